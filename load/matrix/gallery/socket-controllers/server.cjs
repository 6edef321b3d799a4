require('reflect-metadata');
const { createServer } = require('node:http');
const { Server } = require('socket.io');
const {
  ConnectedSocket,
  EmitOnSuccess,
  MessageAck,
  MessageBody,
  OnConnect,
  OnMessage,
  SocketController,
  SocketControllers,
} = require('socket-controllers');
const { Container, Service } = require('typedi');
const chat = require('./chat.cjs');

class Controller {
  connected(socket) {
    socket.emit('welcome');
  }
  add(body, done) {
    done(body.a + body.b);
  }
  save(body) {
    return { saved: body };
  }
}
const decorate = (name, ...decorators) => {
  for (const one of decorators)
    one(Controller.prototype, name, Object.getOwnPropertyDescriptor(Controller.prototype, name));
};
// What tsc adds with emitDecoratorMetadata.
for (const name of ['connected', 'add', 'save']) {
  Reflect.defineMetadata('design:paramtypes', [Object, Object], Controller.prototype, name);
}
decorate('connected', OnConnect());
ConnectedSocket()(Controller.prototype, 'connected', 0);
decorate('add', OnMessage('add'));
MessageBody()(Controller.prototype, 'add', 0);
MessageAck()(Controller.prototype, 'add', 1);
decorate('save', OnMessage('save'), EmitOnSuccess('saved'));
MessageBody()(Controller.prototype, 'save', 0);
SocketController()(Controller);
Service()(Controller);

const server = createServer();
const io = new Server(server);
new SocketControllers({ io, container: Container, controllers: [Controller] });
chat(io, '/chat');
server.listen(process.env.PORT, process.env.HOST);
