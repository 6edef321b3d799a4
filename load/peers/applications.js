import { STAMP_LENGTH, stamp } from '../generator/clock.js';
import { pace } from '../generator/pace.js';
import { everySecond } from './support/marketdata.js';
import { stateSource } from './support/state-source.js';

/** A message of `recovery` as a chat would send it, in characters. */
const SIZE = 40;

/**
 * The applications that all peers with Socket.IO's API run on namespace "/".
 * @type {Record<string, { run(io: import('socket.io').Server, settings: object): unknown, listener?: () => Promise<import('node:http').RequestListener> }>}
 *   `listener` handles the requests beside Socket.IO
 */
export const applications = {
  small: { run: runSmall },
  arena: { run: runArena },
  recovery: { run: runRecovery },
  state: { run: runState },
  express: { run() {}, listener: expressRoutes },
  'small-express': { run: runSmall, listener: expressRoutes },
};

/** What `uws.js` and the peers in other languages do by hand. */
function runSmall(io) {
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

/** All clients are in one room, and what one of them publishes is confirmed once it is sent. */
function runArena(io) {
  io.on('connection', (socket) => {
    socket.join('all');
    socket.on('publish', (message, reply) => {
      io.to('all').emit('message', message);
      reply(true);
    });
  });
}

/** Publishes by itself, to a room or to one socket after the other. Each worker publishes its share. */
function runRecovery(io, { target, perSecond, workers = 1 }) {
  const padding = 'x'.repeat(SIZE - STAMP_LENGTH);
  const sockets = [];
  let sent = 0;
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
}

/**
 * Publishes newest values. In the mode `emit`, each change is a broadcast, and a client that joins gets all keys in one
 * message. In the mode `state`, a state room does both.
 */
async function runState(io, settings) {
  const { set, join, onFilled } = settings.mode === 'state' ? await stateRoomOf(io) : broadcastsOf(io);
  const source = stateSource(settings, set);
  if (settings.filled) {
    source.fill();
    onFilled?.();
  }
  io.on('connection', (socket) => {
    socket.on('join', (_options, reply) => reply(join(socket)));
    socket.on('return', (_options, reply) => reply(join(socket, true)));
    socket.on('start', () => source.start());
  });
}

function broadcastsOf(io) {
  const values = new Map();
  return {
    set(key, value) {
      values.set(key, value);
      io.to('quotes').emit('state', [[key, value]], {});
    },
    join(socket) {
      socket.join('quotes');
      if (values.size > 0) socket.emit('state', [...values], { snapshot: true });
      return { ok: true };
    },
  };
}

async function stateRoomOf(io) {
  const { createStateRoom } = await import('../../dist/features/state/index.js');
  const room = createStateRoom(io, 'quotes', { event: 'state' });
  // What a client that was here a moment ago says when it returns.
  let version;
  const format = {
    name: 'version',
    prefix: '',
    encode: (_chunk, meta) => {
      version = meta.version;
      return [];
    },
  };
  return {
    set: (key, value) => room.set(key, value),
    join: (socket, isBack) => (isBack ? room.join(socket, { version }) : room.join(socket)),
    onFilled: () => room.joinReader({ topicSocket: undefined, bufferedAmount: 0, send() {} }, format, { maxRate: 20 }),
  };
}

/** Routes beside Socket.IO on one port, as most applications of Socket.IO have them. */
async function expressRoutes() {
  const { default: express } = await import('express');
  const megabyte = Buffer.alloc(1_000_000, 'x');
  const app = express();
  app.get('/small', (_request, response) => response.json({ hello: 'world' }));
  app.get('/large', (_request, response) => response.type('application/octet-stream').send(megabyte));
  app.post('/upload', (request, response) => {
    let bytes = 0;
    request.on('data', (chunk) => {
      bytes += chunk.length;
    });
    request.on('end', () => response.json({ bytes }));
  });
  return app;
}
