// The application of the benchmark "recovery": it publishes by itself, to a room or to one socket after the other. Each
// worker publishes its share.

import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { STAMP_LENGTH, stamp } from '../../generator/clock.js';
import { pace } from '../../generator/pace.js';

/** A message as a chat would send it, in characters. */
const SIZE = 40;

const { HOST, PORT, SETTINGS } = process.env;
const { recovers, target, perSecond, workers = 1, stock = false } = JSON.parse(SETTINGS);
const padding = 'x'.repeat(SIZE - STAMP_LENGTH);
const sockets = [];
let sent = 0;

const http = createServer();
const io = new Server(http, recovers ? { connectionStateRecovery: {} } : {});
io.on('connection', (socket) => {
  sockets.push(socket);
  socket.on('join', (room, reply) => {
    socket.join(room);
    reply();
  });
});
pace(perSecond / workers, () => {
  const text = stamp() + padding;
  if (target === 'room') io.to('room').emit('message', text);
  else sockets[sent++ % sockets.length]?.emit('message', text);
});
http.listen(PORT, HOST, () => {
  if (stock) console.log(`socket.io listens on http://${HOST}:${http.address().port}`);
});
