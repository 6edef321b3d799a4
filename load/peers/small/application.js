import { everySecond } from '../support/marketdata.js';

/**
 * The little application that all peers with Socket.IO's API run on namespace "/". `uws.js` does the same by hand.
 * @param {import('socket.io').Server} io
 */
export function runApplication(io) {
  let quotes;
  everySecond((texts) => {
    quotes = texts;
  });

  io.on('connection', (socket) => {
    socket.on('echo', (value) => socket.emit('echo', value));

    socket.on('upper', (text) => socket.emit('upper', text.toUpperCase()));

    socket.on('join', (room, reply) => {
      socket.join(room);
      reply();
    });

    socket.on('publish', ({ room, text }) => io.to(room).emit('message', text));

    socket.on('heartbeat', () => {
      for (const quote of quotes) socket.emit('data', quote);
    });
  });
}
