import parser from 'socket.io-msgpack-parser';
import { talk } from '../talk.js';
import { asked, next } from '../visitor.js';

/** What an admin's page hears while a user connects, joins a room and leaves. */
async function adminUi(visitor) {
  const admin = visitor.socket('/admin', { transports: ['websocket'] });
  const [config] = await next(admin, 'config');
  const heard = [];
  const user = await (async () => {
    const told = next(admin, 'socket_connected');
    const socket = await visitor.connected('/', { transports: ['websocket'] });
    const [about] = await told;
    heard.push(['socket_connected', about.nsp, about.transport, about.rooms.length, about.handshake.address]);
    return socket;
  })();
  const { id } = user;
  const nameless = (value) => (value === id ? 'the user' : value);
  for (const event of ['room_joined', 'room_left', 'event_received', 'event_sent', 'socket_disconnected']) {
    admin.on(event, (...values) => heard.push([event, ...values.slice(0, -1).map(nameless)]));
  }
  await asked(user, 'join', 'room');
  const said = next(user, 'said');
  user.emit('say', 'room', 'text');
  await said;
  const fromAdmin = next(user, 'from the admin');
  admin.emit('emit', '/', 'room', 'from the admin', 1);
  await fromAdmin;
  const gone = next(admin, 'socket_disconnected');
  admin.emit('_disconnect', '/', false, id);
  await gone;
  const stats = await new Promise((resolve) => {
    admin.on('server_stats', (one) => resolve(one));
  });
  return {
    config,
    heard: heard.map((one) => JSON.stringify(one)).sort(),
    clients: [stats.clientsCount, stats.pollingClientsCount, stats.namespaces],
    sockets: await talk(visitor),
  };
}

async function recovery(visitor) {
  const records = [];
  for (const transports of [['websocket'], ['polling']]) {
    const options = {
      transports,
      reconnection: true,
      reconnectionDelay: 300,
      randomizationFactor: 0,
      auth: { name: 'ada' },
    };
    const socket = await visitor.connected('/', options);
    const other = await visitor.connected('/', { transports: ['websocket'], auth: { name: 'bob' } });
    const heard = [];
    socket.on('said', (text) => heard.push(text));
    const said = next(socket, 'said');
    other.emit('say', 'before');
    await said;
    const { id } = socket;
    const lost = next(socket, 'disconnect');
    socket.emit('cut');
    const [reason] = await lost;
    const last = new Promise((resolve) => socket.on('said', (text) => text === 'third' && resolve()));
    for (const text of ['first', 'second', 'third']) other.emit('say', text);
    await last;
    records.push({
      reason,
      heard,
      recovered: socket.recovered,
      same: socket.id === id,
      about: await asked(socket, 'about'),
    });
    for (const one of [socket, other]) one.disconnect();
  }
  return records;
}

async function typedEvents(visitor) {
  const pair = await Promise.all(['ada', 'bob'].map((name) => visitor.connected('/', { auth: { name } })));
  const [ada, bob] = pair;
  for (const [index, one] of pair.entries()) one.on('question', (text, done) => done(`${index}: ${text}`));
  const alone = await asked(ada, 'join', 'room');
  const heard = Promise.all(pair.map((one) => next(one, 'joined')));
  const both = await asked(bob, 'join', 'room');
  return { sum: await asked(ada, 'add', 2, 3), alone, both, heard: await heard };
}

async function twoServers(visitor) {
  return {
    beside: await visitor.http('/'),
    bundles: [
      (await visitor.http('/socket.io/socket.io.js', { method: 'HEAD' })).status,
      (await visitor.http('/second/socket.io.js')).status,
    ],
    first: await talk(visitor),
    second: await visitor
      .connected('/of-the-second', { path: '/second/', transports: ['websocket'] })
      .then((one) => asked(one, 'join', 'a')),
    polling: (await visitor.engine('transport=polling', { path: '/second/' })).status,
  };
}

async function options(visitor) {
  const path = '/live';
  const ask = (query, headers) => visitor.engine(query, { path, headers });
  const handshake = await ask('transport=polling', { origin: 'https://x.b.example' });
  const foreign = await ask('transport=polling', { origin: 'https://c.example' });
  const zipped = await ask('transport=polling', { 'accept-encoding': 'gzip' });
  const socket = await visitor.connected('/', { path, addTrailingSlash: false, transports: ['websocket'] });
  const errors = [];
  socket.on('connection error', (...values) => errors.push(values));
  const refused = visitor.socket('/', {
    path,
    addTrailingSlash: false,
    transports: ['websocket'],
    extraHeaders: { 'x-refuse': '1' },
  });
  const [{ message }] = await next(refused, 'connect_error');
  await ask('transport=pigeon');
  const big = await visitor.connected('/', { path, addTrailingSlash: false, transports: ['websocket'] });
  const gone = next(big, 'disconnect');
  const left = next(socket, 'left');
  big.emit('echo', 'x'.repeat(2000));
  const cookie = String(handshake.headers['set-cookie']);
  return {
    handshake: { ...handshake, headers: { ...handshake.headers, 'set-cookie': cookie.replace(/=[^;]+/, '=') } },
    foreign: foreign.headers['access-control-allow-origin'],
    zipped: zipped.headers['content-encoding'],
    echo: await asked(socket, 'echo', 1),
    refused: message,
    errors,
    tooLarge: [(await gone)[0], (await left)[0]],
  };
}

export default {
  'admin-ui': {
    file: 'sockets/admin-ui.cjs',
    about: '@socket.io/admin-ui: what an admin hears and does',
    script: adminUi,
  },
  msgpack: {
    file: 'sockets/msgpack.cjs',
    about: 'socket.io-msgpack-parser on both sides',
    isStateless: true,
    script: async (visitor) => ({ sockets: await talk(visitor, { options: { parser } }) }),
  },
  recovery: {
    file: 'sockets/recovery.cjs',
    about: 'connectionStateRecovery after a lost connection',
    script: recovery,
  },
  'typed-events': {
    file: 'sockets/typed-events.ts',
    about: 'typed events, compiled by tsc --strict',
    isStateless: true,
    script: typedEvents,
  },
  'two-servers': {
    file: 'sockets/two-servers.cjs',
    about: 'two Socket.IO servers on one http server',
    isStateless: true,
    script: twoServers,
  },
  options: {
    file: 'sockets/options.mjs',
    isStateless: true,
    path: '/live',
    about: 'options of Server, in an ES module',
    script: options,
  },
};
