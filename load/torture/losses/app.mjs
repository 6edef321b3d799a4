// An application with durable rooms, whose clients talk in them.
import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { createDurableRooms, RedisHistoryStore } from '../../../dist/features/history/index.js';

const http = createServer();
const io = new Server(http);
const store = RedisHistoryStore.connect({ redis: process.env.STORE_URL, onError: () => {} });
const rooms = ['north', 'south', 'east'];
const durable = await createDurableRooms(io, { rooms, store, mayJoin: () => true, onError: () => {} });
io.on('connection', (socket) => {
  socket.on('message', ({ room, text }, reply) => {
    durable
      .to(room)
      .emit('message', { text })
      .then(
        (position) => reply({ ok: true, ...position }),
        ({ code }) => reply({ ok: false, code }),
      );
  });
});
http.listen(0, '127.0.0.1');
