import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createPresence } from 'gjallar/presence';
import { Server } from 'socket.io';

const server = createServer();
const io = new Server(server, { connectionStateRecovery: {} });
const presence = createPresence(io);
/** Why sockets of any worker have ended, by id. */
const ends = new Map();
/** Users of the room, as this worker has seen them change. */
const seen = new Set();

/** What the test wants to go wrong once, if anything. */
function fault(...known) {
  const { FAULT } = process.env;
  if (!FAULT || !existsSync(FAULT)) return undefined;
  const name = readFileSync(FAULT, 'utf8');
  if (!known.includes(name)) return undefined;
  rmSync(FAULT);
  return name;
}

io.engine.use((_request, _response, next) => {
  const name = fault('refuse', 'SIGKILL', 'SIGSTOP');
  if (name?.startsWith('SIG')) process.kill(process.pid, name);
  else next(name && new Error(name));
});

function serve(socket) {
  const { recovered } = socket;
  socket.data.visits = [...(socket.data.visits ?? []), { pid: process.pid, recovered }];
  if (!recovered) socket.join('all');
  if (socket.nsp.name === '/') presence.track(socket, socket.handshake.auth.name ?? socket.id);
  socket.on('disconnect', (reason) => {
    io.serverSideEmit('ended', socket.id, reason);
    ends.set(socket.id, [...(ends.get(socket.id) ?? []), reason]);
    if (reason === 'moved' && fault('old')) process.kill(process.pid, 'SIGKILL');
  });
  socket.on('number', (number) => socket.emit('back', number));
  socket.on('late', (answer) => {
    io.of('/').emit('asked');
    io.once('answer now', () => answer(process.pid));
  });
  socket.on('answer now', () => {
    io.serverSideEmit('answer now');
    for (const listener of io.listeners('answer now')) listener();
  });
  socket.on('never', (_answer) => {});
  socket.on('text', (text, answer) => answer(text.length));
  socket.on('tell', (answer) => {
    const { visits } = socket.data;
    answer({
      visits,
      rooms: [...socket.rooms],
      auth: socket.handshake.auth,
      ends: ends.get(socket.id) ?? [],
      seen: [...seen],
    });
  });
}

io.on('connection', serve);
io.of('/admin').on('connection', serve);
io.on('ended', (id, reason) => ends.set(id, [...(ends.get(id) ?? []), reason]));
presence.on('change', (room) => room === 'all' && seen.add([...presence.usersOf(room).users].sort().join()));

// Each worker sends numbers to all clients.
let number = 0;
setInterval(() => io.to('all').emit('all', process.pid, ++number), 10).unref();

server.listen(0);
