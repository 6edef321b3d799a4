// Durable rooms on a Redis, as docs/guide/durable-rooms.md shows them.
import { createServer } from 'node:http';
import { createDurableRooms, RedisHistoryStore } from 'gjallar/history';
import { Server } from 'socket.io';

const http = createServer();
const io = new Server(http);
const store = RedisHistoryStore.connect({ redis: process.env.STORE_URL });
const orders = await createDurableRooms(io, { rooms: 'order:*', store, onError: () => {} });

io.on('connection', (socket) => {
  socket.join('order:7');
  socket.on('post', (value, ack) => {
    orders
      .to('order:7')
      .emit('status', value)
      .then(
        () => ack('kept'),
        (error) => ack(error.code),
      );
  });
});
http.listen(0);
