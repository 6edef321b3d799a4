// A state room that outlives the servers, as docs/guide/live-data.md shows it.
import { createServer } from 'node:http';
import { createStateRoom } from 'gjallar/state';
import { Server } from 'socket.io';

const http = createServer();
const io = new Server(http);
const quotes = createStateRoom(io, 'quotes', { event: 'quote', store: 'redis' });

io.on('connection', (socket) => {
  socket.on('watch', (options, ack) => {
    if (typeof ack === 'function') ack(quotes.join(socket, options));
  });
  socket.on('set', (key, value, ack) => {
    quotes.set(key, value);
    ack(quotes.stats());
  });
});
http.listen(0);
