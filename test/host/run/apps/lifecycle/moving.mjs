import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
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

/** What a test wants to go wrong once, if anything, at a place. */
function fail(place) {
  const { FAULT } = process.env;
  if (!FAULT || !existsSync(FAULT)) return undefined;
  const [where, what] = readFileSync(FAULT, 'utf8').split(', ');
  if (where !== place) return undefined;
  rmSync(FAULT);
  if (what === 'primary') process.kill(process.ppid, 'SIGKILL');
  else if (what === 'descriptors') useUp();
  else if (what.startsWith('SIG')) process.kill(process.pid, what);
  else if (what === 'throw') throw new Error('a listener throws');
  return what;
}

/** Uses all descriptors for a while. */
function useUp() {
  const files = [];
  try {
    for (;;) files.push(openSync('/dev/null'));
  } catch {
    setTimeout(() => files.map((file) => closeSync(file)), 1000);
  }
}

// Handshakes alone: those of clients that move, and not the polling requests on the old worker.
io.engine.use((request, _response, next) => {
  const what = request._query.sid ? undefined : fail('middleware');
  if (what !== 'hang') next(what && new Error('refused'));
});

// What a listener throws ends the process otherwise.
process.on('uncaughtException', () => {});

let recoveries = 0;

function serve(socket) {
  const { recovered } = socket;
  if (recovered) {
    fail('connection');
    if (++recoveries === 4) setImmediate(fail, 'later');
    if (recoveries === 4) io.serverSideEmit('some are there');
  }
  socket.data.visits = [...(socket.data.visits ?? []), { pid: process.pid, recovered }];
  if (!recovered) socket.join('all');
  if (socket.nsp.name === '/') presence.track(socket, socket.handshake.auth.name ?? socket.id);
  socket.on('disconnect', (reason) => {
    io.serverSideEmit('ended', socket.id, reason);
    ends.set(socket.id, [...(ends.get(socket.id) ?? []), reason]);
    if (reason === 'moved') fail('moved');
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
io.of(/^\/large/).on('connection', () => {});
io.on('some are there', () => fail('elsewhere'));
io.on('ended', (id, reason) => ends.set(id, [...(ends.get(id) ?? []), reason]));
presence.on('change', (room) => room === 'all' && seen.add([...presence.usersOf(room).users.keys()].sort().join()));

// Each worker sends numbers to all clients.
let number = 0;
setInterval(() => io.to('all').emit('all', process.pid, ++number), 10).unref();

server.listen(0);
