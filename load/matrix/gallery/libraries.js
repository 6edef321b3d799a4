import { createRequire } from 'node:module';
import { join } from 'node:path';
import { talk } from '../talk.js';
import { asked, next } from '../visitor.js';

const json = { 'content-type': 'application/json' };
const summary = ({ status, body }) => [status, body];
/** The error or the result of an acknowledgement in the style of Node.js. */
const called = (socket, ...event) => new Promise((resolve) => socket.emit(...event, (...values) => resolve(values)));

async function feathers(visitor) {
  const [one, other] = [await visitor.connected(), await visitor.connected('/', { transports: ['websocket'] })];
  const told = visitor.way.hasWorkers ? undefined : next(other, 'messages created');
  const created = await called(one, 'create', 'messages', { text: ' hello ' });
  return {
    find: summary(await visitor.http('/messages?a=1')),
    missing: summary(await visitor.http('/messages/7', { headers: { accept: 'application/json' } })),
    create: summary(await visitor.http('/messages', { method: 'POST', headers: json, body: '{"text":" x "}' })),
    found: await called(one, 'find', 'messages', { b: 2 }),
    unknown: (await called(one, 'get', 'messages', 7))[0]?.message,
    noService: (await called(one, 'find', 'nothing', {}))[0]?.name,
    created,
    inOneProcess: await told,
    sockets: await talk(visitor),
  };
}

async function moleculer(visitor) {
  const [one, other] = [await visitor.connected(), await visitor.connected('/', { transports: ['websocket'] })];
  await Promise.all([one, other].map((socket) => asked(socket, 'enter', 'hall')));
  const said = [one, other].map((socket) => next(socket, 'said'));
  await called(one, 'call', 'room.say', { room: 'hall', text: 'to all' });
  return {
    said: await Promise.all(said),
    added: await called(one, 'call', 'plus', { a: 1, b: 2 }),
    invalid: (await called(other, 'call', 'math.add', { a: 1 }))[0]?.name,
    forbidden: (await called(other, 'call', 'math.secret'))[0]?.name,
    sockets: await talk(visitor, { namespace: '/chat' }),
  };
}

async function boardgame(visitor) {
  const created = await visitor.http('/games/counter/create', {
    method: 'POST',
    headers: json,
    body: '{"numPlayers":2}',
  });
  const { matchID } = JSON.parse(created.body);
  const join = (id) =>
    visitor.http(`/games/counter/${matchID}/join`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ playerID: id, playerName: `player ${id}` }),
    });
  const credentials = [];
  for (const id of ['0', '1']) credentials.push(JSON.parse((await join(id)).body).playerCredentials);
  const sockets = [
    await visitor.connected('/counter', { transports: ['websocket'] }),
    await visitor.connected('/counter', {}),
  ];
  const states = [];
  for (const [index, socket] of sockets.entries()) {
    const synced = next(socket, 'sync');
    socket.emit('sync', matchID, String(index), credentials[index], 2);
    states.push((await synced)[1].state.G);
  }
  const updated = sockets.map((socket) => next(socket, 'update'));
  const payload = { type: 'add', args: [5], playerID: '0', credentials: credentials[0] };
  sockets[0].emit('update', { type: 'MAKE_MOVE', payload }, 0, matchID, '0');
  const chatted = next(sockets[1], 'chat');
  const after = (await Promise.all(updated)).map(([id, { G, ctx }]) => [id === matchID, G, ctx.currentPlayer]);
  sockets[0].emit('chat', matchID, { id: 'a', sender: '0', payload: 'hi' }, credentials[0]);
  const list = JSON.parse((await visitor.http('/games')).body);
  return { states, after, chat: (await chatted)[1], list, missing: (await visitor.http('/games/nothing')).status };
}

/** Two documents that the provider of y-socket.io keeps equal, and what each one's users know of the other. */
async function shared(visitor, { folder }) {
  const [{ SocketIOProvider }, Y] = withoutChannel(() => {
    const load = createRequire(join(folder, 'package.json'));
    return [load('y-socket.io'), load('yjs')];
  });
  const docs = [new Y.Doc(), new Y.Doc()];
  const options = { auth: { token: 'right' }, disableBc: true };
  const providers = docs.map((doc) => new SocketIOProvider(visitor.url, 'notes', doc, options));
  try {
    await Promise.all(providers.map((one) => one.synced || next(one, 'sync')));
    const text = docs.map((doc) => doc.getText('text'));
    const heard = new Promise((resolve) => text[1].observe(() => resolve()));
    text[0].insert(0, 'hello');
    await heard;
    const back = new Promise((resolve) => text[0].observe(() => resolve()));
    text[1].insert(5, ' back');
    await back;
    const seen = next(providers[1].awareness, 'change');
    providers[0].awareness.setLocalState({ name: 'ada' });
    await seen;
    const states = [...providers[1].awareness.getStates().values()].filter(({ name }) => name);
    return { text: text.map(String), states, sockets: await talk(visitor) };
  } finally {
    for (const one of providers) one.destroy();
    for (const doc of docs) doc.destroy();
  }
}

/** Providers never close their BroadcastChannel, which would keep this process alive. They do without if there is none. */
function withoutChannel(load) {
  const { BroadcastChannel } = globalThis;
  delete globalThis.BroadcastChannel;
  try {
    return load();
  } finally {
    globalThis.BroadcastChannel = BroadcastChannel;
  }
}

async function adminUi(visitor) {
  const admin = visitor.socket('/admin', { transports: ['websocket'] });
  await next(admin, 'config');
  const socket = await visitor.connected('/', { transports: ['websocket'] });
  await asked(socket, 'join', 'hall');
  // The admin's page acts on the sockets of all workers.
  const heard = next(socket, 'from the admin');
  admin.emit('emit', '/', 'hall', 'from the admin', 1);
  const values = await heard;
  const gone = next(socket, 'disconnect');
  admin.emit('_disconnect', '/', true, socket.id);
  return { heard: values, reason: (await gone)[0], sockets: await talk(visitor) };
}

/** On stock with @socket.io/sticky 2.0.1, the POST requests of polling clients in Node.js fail. */
const chatAlone = async (visitor) => ({ sockets: await talk(visitor, { over: ['websocket'] }) });

async function controllers(visitor) {
  const socket = visitor.socket('/', {});
  const welcome = await next(socket, 'welcome');
  const saved = next(socket, 'saved');
  socket.emit('save', { deep: [1] });
  return {
    welcome,
    sum: await asked(socket, 'add', { a: 2, b: 3 }),
    saved: await saved,
    sockets: await talk(visitor, { namespace: '/chat' }),
  };
}

async function fastifyPlugin(visitor) {
  return { about: await visitor.http('/about'), sockets: await talk(visitor) };
}

const io = { 'socket.io': '4.8.4' };

export default {
  feathers: {
    about: 'Feathers on Koa: services over HTTP and sockets, errors, channels',
    version: '5.0.50',
    isStateless: true,
    script: feathers,
    from: {
      packages: { '@feathersjs/feathers': '5.0.50', '@feathersjs/koa': '5.0.50', '@feathersjs/socketio': '5.0.50' },
    },
  },
  'moleculer-io': {
    about: 'moleculer-io: actions called over sockets, broadcasts to rooms',
    version: '2.2.0',
    isStateless: true,
    script: moleculer,
    app: 'moleculer',
    from: { packages: { moleculer: '0.14.35', 'moleculer-io': '2.2.0' } },
  },
  'boardgame.io': {
    about: 'boardgame.io: its lobby over HTTP, and two players of a match',
    version: '0.50.2',
    state: 'keeps matches',
    script: boardgame,
    path: '/socket.io/',
    app: 'boardgame',
    from: {
      packages: { 'boardgame.io': '0.50.2', ...io },
      overrides: { koa: '2.15.4', 'koa-compose': '4.1.0', 'koa-socket-2': io },
    },
  },
  'y-socket.io': {
    about: 'y-socket.io: two Yjs documents that stay equal, and awareness',
    version: '1.1.3',
    state: 'keeps documents',
    script: shared,
    from: { packages: { ...io, 'y-socket.io': '1.1.3', yjs: '13.6.27' } },
  },
  'admin-ui': {
    about: '@socket.io/admin-ui: an admin who emits and disconnects',
    version: '0.5.1',
    isStateless: true,
    script: adminUi,
    from: { packages: { ...io, '@socket.io/admin-ui': '0.5.1' } },
  },
  sticky: {
    about: '@socket.io/sticky with @socket.io/cluster-adapter, over WebSocket; for gjallar run, its worker alone',
    version: '2.0.1',
    isStateless: true,
    onNode: ['register'],
    script: chatAlone,
    from: {
      packages: { ...io, '@socket.io/cluster-adapter': '0.3.0', '@socket.io/sticky': '2.0.1' },
      runFile: 'worker.cjs',
    },
  },
  'socket-controllers': {
    about: 'socket-controllers: classes as handlers',
    version: '0.3.1',
    isStateless: true,
    script: controllers,
    from: {
      packages: {
        ...io,
        'class-transformer': '0.5.1',
        'class-validator': '0.14.2',
        'reflect-metadata': '0.2.2',
        'socket-controllers': '0.3.1',
        typedi: '0.10.0',
      },
    },
  },
  'fastify-socket.io': {
    about: 'fastify-socket.io: Socket.IO as a plugin of Fastify 4',
    version: '5.1.0',
    isStateless: true,
    script: fastifyPlugin,
    app: 'fastify-plugin',
    from: { packages: { ...io, fastify: '4.29.1', 'fastify-socket.io': '5.1.0' } },
  },
};
