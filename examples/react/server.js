// Serves the page that Vite has built, and what its hooks follow: votes, users and messages.
import { createServer } from 'node:http';
import { Server } from 'gjallar';
import { createDurableRooms } from 'gjallar/history';
import { createPresence } from 'gjallar/presence';
import { createStateRoom } from 'gjallar/state';
import serveStatic from 'serve-static';

const DISHES = ['Pasta', 'Salad', 'Soup'];

const files = serveStatic('dist');
const http = createServer((request, response) => {
  files(request, response, () => response.writeHead(404).end());
});
const io = new Server(http);
const votes = createStateRoom(io, 'votes', { mayJoin: () => true });
// Other workers may have votes, also those that this worker replaces.
await votes.ready();
for (const dish of DISHES) await votes.compareAndSet(dish, undefined, 0);
const presence = createPresence(io, { tellsMembers: true });
const talk = await createDurableRooms(io, {
  rooms: 'talk:*',
  dataDir: process.env.DATA_DIR ?? './data',
  mayJoin: (_socket, room) => room === 'talk:lunch',
});

/** Another worker may count a vote at the same time: then this one tries again. */
async function vote(dish) {
  let isCounted = false;
  while (!isCounted) {
    const count = votes.get(dish);
    isCounted = await votes.compareAndSet(dish, count, count + 1);
  }
}

// This example believes the name that a client sends.
io.use((socket, next) => {
  const { name } = socket.handshake.auth;
  if (typeof name !== 'string' || name.length === 0 || name.length > 50) return next(new Error('Send a name.'));
  socket.data.name = name;
  next();
});

io.on('connection', (socket) => {
  presence.track(socket, socket.data.name);
  socket.join('lunch');
  socket.on('vote', (dish) => {
    if (DISHES.includes(dish)) vote(dish).catch(console.error);
  });
  socket.on('say', async (text) => {
    if (typeof text !== 'string' || text.length === 0 || text.length > 200) return;
    await talk.to('talk:lunch').emit('said', socket.data.name, text).catch(console.error);
  });
});

const port = Number(process.env.PORT ?? 3000);
http.listen(port, () => console.log(`listening on ${port}`));
