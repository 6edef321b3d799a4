import { Server } from 'socket.io';

// Loaded into a worker by `node --import`: listeners of an application that fail.
const { bind } = Server.prototype;
Server.prototype.bind = function (engine) {
  this.on('connection', (socket) => {
    socket.on('throw', () => {
      throw new Error('a listener threw');
    });
    socket.on('reject', () => Promise.reject(new Error('a listener rejected')));
    socket.on('ask', () =>
      socket.emit('question', () => {
        throw new Error('an acknowledgement threw');
      }),
    );
  });
  return bind.call(this, engine);
};
