// NestJS as TypeScript compiles it: decorators are functions that are called on a class.

require('reflect-metadata');
const { Catch, Controller, Get, Module, UseFilters, UseGuards, UseInterceptors } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { IoAdapter } = require('@nestjs/platform-socket.io');
const {
  BaseWsExceptionFilter,
  ConnectedSocket,
  MessageBody,
  SubscribeMessage,
  WebSocketGateway,
} = require('@nestjs/websockets');
const { WebSocketServer, WsException } = require('@nestjs/websockets');
const { from, map } = require('rxjs');
const chat = require('./chat.cjs');

const decorate = (prototype, name, ...decorators) => {
  for (const one of decorators) one(prototype, name, Object.getOwnPropertyDescriptor(prototype, name));
};

class Routes {
  about() {
    return { nest: true };
  }
}
decorate(Routes.prototype, 'about', Get('/about'));
Controller()(Routes);

class Guard {
  canActivate(context) {
    return context.switchToWs().getData().token === 'right';
  }
}
class Interceptor {
  intercept(_, next) {
    return next.handle().pipe(map((value) => ({ event: 'wrapped', data: value })));
  }
}
class Filter extends BaseWsExceptionFilter {
  catch(error, host) {
    host.switchToWs().getClient().emit('rejected', error.message);
  }
}
Catch()(Filter);

class Gateway {
  afterInit(namespace) {
    chat(namespace.server, '/chat');
  }
  handleConnection(client) {
    client.emit('welcome', client.handshake.auth.name ?? 'nobody');
  }
  guarded() {
    return 'let in';
  }
  wrapped(body) {
    return body;
  }
  broken() {
    throw new WsException('broken');
  }
  numbers() {
    return from([1, 2, 3]).pipe(map((data) => ({ event: 'number', data })));
  }
  async enter(client, room) {
    await client.join(room);
    return 'in';
  }
  say({ room, text }) {
    this.namespace.to(room).emit('said', text);
  }
}
const { prototype } = Gateway;
WebSocketServer()(prototype, 'namespace');
decorate(prototype, 'guarded', SubscribeMessage('guarded'), UseGuards(Guard), UseFilters(new Filter()));
decorate(prototype, 'wrapped', SubscribeMessage('wrapped'), UseInterceptors(Interceptor));
decorate(prototype, 'broken', SubscribeMessage('broken'));
decorate(prototype, 'numbers', SubscribeMessage('numbers'));
decorate(prototype, 'enter', SubscribeMessage('enter'));
decorate(prototype, 'say', SubscribeMessage('say'));
for (const name of ['wrapped', 'say']) MessageBody()(prototype, name, 0);
ConnectedSocket()(prototype, 'enter', 0);
MessageBody()(prototype, 'enter', 1);
WebSocketGateway({ namespace: '/nest', cors: true })(Gateway);

class Application {}
Module({ controllers: [Routes], providers: [Gateway] })(Application);

NestFactory.create(Application, { logger: false }).then((app) => {
  app.useWebSocketAdapter(new IoAdapter(app));
  return app.listen(process.env.PORT, process.env.HOST);
});
