// Publishes prices faster than a slow client can read them, and keeps every client up to date.
//
// A client needs the newest price of each symbol, not every price. So each client has its own table of prices that it has
// not been sent, and is served when little waits for it: the producer paces itself by the client.
import { createServer } from 'node:http';
import { Server } from 'gjallar';

/** Bytes that may wait for a client before it is left out of a round. */
const MAX_WAITING_BYTES = 64 * 1024;
const ROUND_MS = Number(process.env.ROUND_MS ?? 20);
const SYMBOLS = Array.from({ length: 500 }, (_, index) => `S${index}`);

const server = createServer();
const io = new Server(server, { serveClient: false });
const prices = new Map(SYMBOLS.map((symbol) => [symbol, 100]));
/** What each socket has not been sent, by symbol: a newer price replaces an older one. */
const pending = new Map();
let offered = 0;
let round = 0;

io.on('connection', (socket) => {
  pending.set(socket, new Map(prices));
  socket.on('disconnect', () => pending.delete(socket));
  socket.on('stats', (reply) => reply({ offered, round }));
});

setInterval(() => {
  round += 1;
  for (const symbol of SYMBOLS) {
    prices.set(symbol, prices.get(symbol) * (1 + (Math.random() - 0.5) / 1000));
    offered += 1;
  }
  for (const [socket, table] of pending) {
    for (const [symbol, price] of prices) table.set(symbol, price);
    if (socket.conn.bufferedAmount > MAX_WAITING_BYTES) continue;
    socket.emit('prices', { round, prices: Object.fromEntries(table) });
    table.clear();
  }
}, ROUND_MS);

const port = Number(process.env.PORT ?? 3000);
server.listen(port, () => console.log(`listening on ${port}`));
