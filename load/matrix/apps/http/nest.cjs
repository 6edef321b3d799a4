// NestJS as TypeScript compiles it: decorators are functions that are called on a class.

require('reflect-metadata');
const { Body, Controller, Get, HttpException, Module, Post, Req } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { IoAdapter } = require('@nestjs/platform-socket.io');
const { WebSocketGateway, WebSocketServer } = require('@nestjs/websockets');
const chat = require('../chat.cjs');

class Routes {
  about({ ip, protocol, hostname, method, path, query }) {
    return { ip, protocol, hostname, method, path, query };
  }
  echo(body) {
    return body;
  }
  broken() {
    throw new HttpException('broken', 503);
  }
}
const descriptor = (name) => Object.getOwnPropertyDescriptor(Routes.prototype, name);
Req()(Routes.prototype, 'about', 0);
Get('/about')(Routes.prototype, 'about', descriptor('about'));
Body()(Routes.prototype, 'echo', 0);
Post('/echo')(Routes.prototype, 'echo', descriptor('echo'));
Get('/broken')(Routes.prototype, 'broken', descriptor('broken'));
Controller()(Routes);

class Gateway {
  afterInit(namespace) {
    chat(namespace.server, '/nest');
  }
}
WebSocketServer()(Gateway.prototype, 'namespace');
WebSocketGateway({ namespace: '/nest' })(Gateway);

class Application {}
Module({ controllers: [Routes], providers: [Gateway] })(Application);

NestFactory.create(Application, { logger: false }).then((app) => {
  app.useWebSocketAdapter(new IoAdapter(app));
  return app.listen(process.env.PORT, process.env.HOST);
});
