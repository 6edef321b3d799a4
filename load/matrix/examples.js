import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atExit } from '../harness/process/at-exit.js';
import { asked, next } from './visitor.js';
import { root } from './ways.js';

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const json = { 'content-type': 'application/json' };
const cookieOf = ({ headers }) => headers['set-cookie'][0].split(';')[0];
const withoutCookie = ({ headers: { 'set-cookie': _, ...headers }, ...rest }) => ({ ...rest, headers });

/** What every example is asked, over each transport. */
async function basics(visitor, options = {}, hasPages = true) {
  const reasons = [];
  for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
    const socket = await visitor.connected('/', { ...options, transports });
    if (socket.io.engine.transport.name !== transports.at(-1)) await next(socket.io.engine, 'upgrade');
    const gone = next(socket, 'disconnect');
    socket.disconnect();
    reasons.push((await gone)[0]);
  }
  return {
    ...(hasPages ? await pages(visitor) : {}),
    bundle: (await visitor.http('/socket.io/socket.io.js')).body.length,
    unknown: withoutCookie(await visitor.engine('transport=pigeon')),
    reasons,
  };
}

async function pages(visitor) {
  return { page: withoutCookie(await visitor.http('/')), missing: withoutCookie(await visitor.http('/missing')) };
}

/** One client emits, and another one hears it. */
const relayed = (before, event, heard) => async (visitor) => {
  const [from, to] = [await visitor.connected('/', { transports: ['websocket'] }), await visitor.connected('/', {})];
  for (const [index, one] of [from, to].entries()) if (before) await before(one, index);
  const values = next(to, heard);
  from.emit(...event);
  return { basics: await basics(visitor), heard: await values };
};

const answered =
  (...event) =>
  async (visitor) => ({
    basics: await basics(visitor),
    answer: await asked(await visitor.connected('/', {}), ...event),
  });

async function recovery(visitor) {
  const socket = await visitor.connected('/', { transports: ['websocket'], reconnection: true, reconnectionDelay: 50 });
  // The id of the last packet, from which a client recovers, comes with it.
  await next(socket, 'ping');
  const back = next(socket, 'connect');
  const { id } = socket;
  socket.io.engine.close();
  await back;
  return { basics: await basics(visitor), recovered: socket.recovered, same: socket.id === id };
}

async function session(visitor) {
  const first = await visitor.http('/incr', { method: 'POST' });
  const headers = { cookie: cookieOf(first) };
  // While a poll waits, the example's own middleware would write the session of its start over the count.
  const socket = await visitor.connected('/', { transports: ['websocket'], extraHeaders: headers });
  const told = next(socket, 'current count');
  const second = await visitor.http('/incr', { method: 'POST', headers });
  const counted = [await told, await asked(socket, 'incr')];
  const gone = next(socket, 'disconnect');
  const logout = await visitor.http('/logout', { method: 'POST', headers });
  return { basics: await basics(visitor), bodies: [first.body, second.body], counted, logout, reason: await gone };
}

async function passport(visitor) {
  const stranger = withoutCookie(await visitor.http('/'));
  const login = (password) =>
    visitor.http('/login', { method: 'POST', headers: form, body: `username=john&password=${password}` });
  const [wrong, right] = [await login('wrong'), await login('changeit')];
  const extraHeaders = { cookie: cookieOf(right) };
  const [error] = await next(visitor.socket('/', { transports: ['polling'] }), 'connect_error');
  const socket = await visitor.connected('/', { extraHeaders });
  const name = await asked(socket, 'whoami');
  return {
    basics: await basics(visitor, { extraHeaders }),
    stranger,
    wrong: withoutCookie(wrong),
    right: withoutCookie(right),
    status: error.context?.status,
    name,
  };
}

async function passportJwt(visitor) {
  const login = (password) =>
    visitor.http('/login', { method: 'POST', headers: json, body: JSON.stringify({ username: 'john', password }) });
  const { token } = JSON.parse((await login('changeit')).body);
  const extraHeaders = { authorization: `bearer ${token}` };
  const [error] = await next(visitor.socket('/', { transports: ['polling'] }), 'connect_error');
  const socket = await visitor.connected('/', { extraHeaders });
  return {
    basics: await basics(visitor, { extraHeaders }),
    wrong: await login('wrong'),
    self: [await visitor.http('/self', { headers: extraHeaders }), await visitor.http('/self')],
    status: error.context?.status,
    name: await asked(socket, 'whoami'),
  };
}

async function todos(visitor) {
  const [one, other] = [await visitor.connected('/', {}), await visitor.connected('/', { transports: ['websocket'] })];
  const told = next(other, 'todo:created');
  const { data: id, error } = await asked(one, 'todo:create', { title: 'lorem ipsum', completed: false });
  const [{ title }] = await told;
  const invalid = await asked(one, 'todo:create', { title: 1 });
  return {
    // Its http server has no listener, so no page is ever answered.
    basics: await basics(visitor, {}, false),
    error,
    title,
    list: (await asked(other, 'todo:list')).data.map((todo) => ({ ...todo, id: todo.id === id })),
    invalid,
  };
}

async function parsers(visitor) {
  const heard = await next(visitor.socket('/', { transports: ['websocket'] }), 'numeric');
  return { heard: heard[0].length, reasons: (await basics(visitor)).reasons };
}

const expressLike = ['cjs', 'esm', 'ts'];
const several = (folder, script, more = {}) =>
  Object.fromEntries(
    expressLike.map((kind) => [
      `${folder}/${kind}`,
      { file: kind === 'ts' ? 'index.ts' : 'index.js', script, ...more },
    ]),
  );

/**
 * The examples of socket.io that have a server. `port` is what the code of an example fixes; `packages` are those that its
 * server needs, if its package.json names those of a whole frontend.
 */
const known = {
  'ReactNativeExample/server': { isStateless: true, file: 'index.js', port: 3000, script: basics },
  'angular-todomvc': {
    file: 'server.ts',
    port: 8080,
    packages: { 'socket.io': '^4.0.0' },
    isModule: false,
    script: relayed((one) => next(one, 'todos').catch(() => {}), ['update-store', [{ title: 'a' }]], 'todos'),
  },
  'basic-crud-application/server': { file: 'lib/index.ts', port: 3000, script: todos },
  chat: {
    file: 'index.js',
    script: relayed(
      (one, index) => {
        one.emit('add user', `user ${index}`);
        return next(one, 'login');
      },
      ['new message', 'hello'],
      'new message',
    ),
  },
  'client-side-load-balancing-example': {
    file: 'index.js',
    port: 3000,
    packages: { 'socket.io': '^4.0.0' },
    isModule: true,
    script: basics,
  },
  'connection-state-recovery-example/cjs': { file: 'index.js', port: 3000, script: recovery },
  'connection-state-recovery-example/esm': { file: 'index.js', port: 3000, script: recovery },
  'create-react-app-example': { file: 'server.js', port: 3001, packages: { 'socket.io': '^4.0.0' }, script: basics },
  'custom-parsers': {
    file: 'src/server.js',
    port: 3001,
    // Its page; each parser has a port of its own.
    env: { PORT: '0' },
    packages: {
      'component-emitter': '*',
      express: '^4.15.2',
      schemapack: '*',
      'socket.io': '^4.0.0',
      'socket.io-json-parser': '*',
      'socket.io-msgpack-parser': '^3.0.0',
    },
    script: parsers,
  },
  'es-modules': { isStateless: true, file: 'server.js', port: 8080, script: answered('ping') },
  'expo-example/server': { isStateless: true, file: 'index.js', port: 3000, script: basics },
  ...several('express-session-example', session),
  'nestjs-example': {
    isStateless: true,
    file: 'src/main.ts',
    port: 3000,
    script: async (visitor) => ({
      basics: await basics(visitor),
      answer: await asked(await visitor.connected('/', {}), 'hello', 'abc'),
    }),
  },
  'nwjs-example/server': { isStateless: true, file: 'index.js', port: 3000, script: basics },
  ...several('passport-example', passport),
  ...several('passport-jwt-example', passportJwt, { isStateless: true }),
  'typescript-example/cjs': { isStateless: true, file: 'server.ts', port: 8080, script: answered('ping') },
  'typescript-example/esm': { isStateless: true, file: 'server.ts', port: 8080, script: answered('ping') },
  whiteboard: {
    isStateless: true,
    file: 'index.js',
    script: relayed(undefined, ['drawing', { x0: 0, y0: 1, color: 'black' }], 'drawing'),
  },
};

/** Why the other examples with a server are not run. */
export const notRun = {
  'basic-crud-application/server-postgres-cluster': 'needs PostgreSQL, and is a cluster of its own',
  'basic-websocket-client': 'its server is started by its tests',
  'cluster-engine-node-cluster': 'brings an engine of its own',
  'cluster-engine-redis': 'brings an engine of its own',
  'cluster-haproxy': 'needs the host names of Docker Compose',
  'cluster-httpd': 'needs the host names of Docker Compose',
  'cluster-nginx': 'needs the host names of Docker Compose',
  'cluster-traefik': 'needs the host names of Docker Compose',
  'http2-example': 'HTTP/2 and TLS stay with Node.js',
  'nextjs-app-router': 'the same server as nextjs-pages-router',
  'nextjs-pages-router': 'see next-dev and next-pages',
  'nuxt-example': 'brings an engine of its own',
  'pm2-example': 'a cluster with @socket.io/sticky',
  'postgres-adapter-example': 'needs PostgreSQL',
  'private-messaging': 'a cluster with @socket.io/sticky',
  'rollup-server-bundle': 'bundles socket.io, which gjallar/register cannot find',
  'tweet-stream': 'needs an account of another service',
  'webpack-build-server': 'bundles socket.io, which gjallar/register cannot find',
  webtransport: 'gjallar has no WebTransport',
};

/**
 * The examples in a checkout of socket.io, as applications of the matrix.
 * @param {string} folder of the checkout, or its folder `examples`
 * @returns {Record<string, import('./applications/index.js').Application>}
 */
export function examplesIn(folder) {
  const all = existsSync(join(folder, 'examples')) ? join(folder, 'examples') : folder;
  const found = Object.entries(known).filter(([name]) => existsSync(join(all, name)));
  return Object.fromEntries(found.map(([name, example]) => [name, applicationOf(join(all, name), name, example)]));
}

function applicationOf(source, name, { file, packages, isModule, ...example }) {
  let prepared;
  return {
    about: `example of socket.io: ${name}`,
    ...example,
    isVerbose: true,
    prepare: () => {
      prepared ??= install(source, file, packages, isModule);
      return prepared;
    },
  };
}

/** Copies an example to a folder of its own, and installs its packages there. Its files stay as they are. */
function install(source, file, packages, isModule) {
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-matrix-'));
  atExit(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(source, folder, { recursive: true, filter: (path) => !path.includes('node_modules') });
  const manifest = join(folder, 'package.json');
  const { type, dependencies } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : {};
  const needed = packages ?? dependencies;
  writeFileSync(manifest, JSON.stringify({ type: isModule ? 'module' : type, dependencies: needed }));
  rmSync(join(folder, 'package-lock.json'), { force: true });
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'], folder);
  if (!file.endsWith('.ts')) return { file: join(folder, file), folder, remove() {} };
  const options = ['--noCheck', '--ignoreConfig', '--target', 'es2022', '--skipLibCheck', '--types', ''];
  options.push('--experimentalDecorators', '--emitDecoratorMetadata', '--esModuleInterop', '--rootDir', folder);
  options.push(
    ...(type === 'module' ? ['--module', 'nodenext'] : ['--module', 'commonjs', '--moduleResolution', 'bundler']),
  );
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...options, join(folder, file)], folder);
  return { file: join(folder, file.replace(/ts$/, 'js')), folder, remove() {} };
}

function run(program, args, cwd) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args[0]}: ${stdout}${stderr}`);
}
