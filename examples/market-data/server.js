// Publishes prices faster than a slow client can read them, and keeps every client up to date.
//
// A client needs the newest price of each symbol, not every price. So the prices live in a state room: a client that reads
// slowly skips prices, and gets the newest ones when it reads again.
import { createServer } from 'node:http';
import { Server } from 'gjallar';
import { createStateRoom } from 'gjallar/state';

const ROUND_MS = Number(process.env.ROUND_MS ?? 20);
const SYMBOLS = Array.from({ length: 500 }, (_, index) => `S${index}`);

const server = createServer();
const io = new Server(server, { serveClient: false });
const quotes = createStateRoom(io, 'quotes', { mayJoin: () => true, maxKeys: SYMBOLS.length });
let round = 0;

io.on('connection', (socket) => {
  socket.on('stats', (reply) => {
    if (typeof reply === 'function') reply(quotes.stats());
  });
});

// Other workers may have prices, also those that this worker replaces.
await quotes.ready();
setInterval(() => {
  round += 1;
  for (const symbol of SYMBOLS) {
    const price = (quotes.get(symbol)?.price ?? 100) * (1 + (Math.random() - 0.5) / 1000);
    quotes.set(symbol, { round, price });
  }
}, ROUND_MS);

const port = Number(process.env.PORT ?? 3000);
server.listen(port, () => console.log(`listening on ${port}`));
