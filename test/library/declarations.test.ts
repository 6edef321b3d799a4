import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import '../support/long.js';
import { InstalledPackage, root } from './support/installed.js';

const installed = new InstalledPackage();

const programs = {
  server: `import { createServer } from 'node:http';
    import { Server } from 'gjallar';
    const io = new Server(createServer(), { cors: { origin: 'https://example.com' }, maxBackpressure: 1e6 });
    io.on('connection', (socket) => socket.on('say', (text: string) => void io.to('hall').emit('said', text)));`,
  typed: `import { Server } from 'gjallar';
    interface FromClients { say(text: string, done: (ok: boolean) => void): void }
    interface ToClients { said(text: string): void }
    const io = new Server<FromClients, ToClients>(3000);
    io.on('connection', (socket) => socket.on('say', (text, done) => { socket.emit('said', text); done(true); }));`,
  connection: `import { type Namespace, Server, type Socket } from 'gjallar';
    import { type Socket as Stock, Server as StockServer } from 'socket.io';
    const io = new Server();
    io.on('connection', (socket) => {
      if (socket.conn.isOverLimit || socket.conn.bufferedAmount > 1e6) socket.disconnect();
    });
    const named = (socket: Socket) => socket.conn.on('drain', () => socket.conn.bufferedAmount);
    const plain = (socket: Stock) => void socket.join('hall');
    for (const nsp of [io.of('/'), io.sockets, io.of(/^x/)]) nsp.on('connection', named).once('connect', plain).use(named);
    const orders: Namespace = io.of('/orders', named);
    for (const socket of orders.sockets.values()) named(socket);
    io.use((socket, next) => socket.conn.isOverLimit ? next(new Error('slow down')) : next());
    // A framework knows socket.io's own class.
    const given: StockServer = io;
    console.log(given, orders.sockets.get('x')?.nsp.server);`,
  engine: `import { Server } from 'gjallar';
    const { counters, addresses, clientsCount } = new Server().engine;
    console.log(counters, addresses, clientsCount);`,
  parts: `import { App, createAdapter, Engine, parser } from 'gjallar';
    import { Server } from 'socket.io';
    const engine = new Engine({ maxHttpBufferSize: 1000 });
    engine.attach(App(), { path: '/socket.io' });
    new Server({ adapter: createAdapter(engine), parser: parser as never }).bind(engine);`,
  errors: `import { type ErrorCode, errorCodes, GjallarError } from 'gjallar';
    const code: ErrorCode = 'BAD_CONFIG';
    console.log(errorCodes[code], new GjallarError(code, 'why').code);`,
  emitter: `import * as emitter from 'gjallar/emitter';
    console.log(Object.keys(emitter));`,
  history: `import { Server } from 'gjallar';
    import { createDurableRooms, RedisHistoryStore, SqliteHistoryStore } from 'gjallar/history';
    interface ToClients { status(status: { paid: boolean }): void }
    const store = await SqliteHistoryStore.open({ dataDir: './data' });
    console.log(RedisHistoryStore, await store.append('hall', [{ from: 'Ada', text: 'Hello', at: 0 }]));
    const mayJoin = async () => true;
    const any = createDurableRooms(new Server(), { rooms: 'x:*', store, mayJoin });
    const named = createDurableRooms<ToClients>(new Server(), { rooms: 'order:*', dataDir: './data' });
    const typed = createDurableRooms(new Server<ToClients, ToClients>(), { rooms: 'order:*', dataDir: './data' });
    any.then((rooms) => rooms.to('x:1').emit('anything', 7));
    for (const one of [named, typed]) one.then(async (orders) => {
      const { offset } = await orders.to('order:7', { key: 'k' }).emit('status', { paid: true });
      // @ts-expect-error: no such event
      orders.to('order:7').emit('sattus', { paid: true });
      // @ts-expect-error: no such value
      orders.to('order:7').emit('status', { paid: offset });
    });`,
  state: `import { Server } from 'gjallar';
    import { createStateRoom, type StateRoom } from 'gjallar/state';
    interface Quote { bid: number; ask: number }
    const io = new Server<{ say(): void }>();
    const quotes: StateRoom<Quote> = createStateRoom<Quote>(io, 'quotes', { mayJoin: (socket) => socket.data.may, maxRate: 10 });
    quotes.on('change', (keys) => keys.map((key) => quotes.get(key)?.bid.toFixed()));
    quotes.patch('AAPL', { bid: 1 });
    // @ts-expect-error: a field is missing
    quotes.set('AAPL', { bid: 1 });
    // @ts-expect-error: it is no EventEmitter
    quotes.setMaxListeners(0);
    createStateRoom(io.of('/other'), 'any').set('x', [7]);`,
  presence: `import { Server } from 'gjallar';
    import { createPresence } from 'gjallar/presence';
    const presence = createPresence<{ name: string }>(new Server<{ say(): void }>());
    presence.on('change', (room) => presence.usersOf(room).users.get('ada')?.name.length);
    presence.on('join', (room, user, data) => [room, user, data?.name.length]);
    // @ts-expect-error: a field is missing
    presence.add('hall', 'ada', {});`,
  react: `import { useDurableRoom, usePresence, useStateMap } from 'gjallar/react';
    import type { SocketLike } from 'gjallar/client';
    export function view(socket: SocketLike) {
      const { values } = useStateMap<{ bid: number }>(socket, 'quotes', { maxRate: 5 });
      const { users, members } = usePresence<{ status: string }>(undefined, 'hall');
      const { messages, error } = useDurableRoom(socket, 'order:7', { last: 20 });
      // @ts-expect-error: no such option
      useDurableRoom(socket, 'order:7', { first: 20 });
      return [values.get('x')?.bid.toFixed(), users.get('Ada')?.status, members.toFixed(), messages[0]?.offset, error?.code];
    }`,
  plain: `import { App, Engine, GjallarError } from 'gjallar';
    import { answerHttp, readJson, sendJson } from 'gjallar/http';
    import { type OtherClients, PlainWebSockets } from 'gjallar/plain';
    const engine = new Engine();
    const plain = new PlainWebSockets(engine).attach(App(), {
      pattern: '/prices/*',
      admit: async ({ url }) => ({ room: url, enter: async (client) => client.send(['hi']), say: async () => {}, leave: () => {} }),
    });
    plain.publish('/prices/x', '7');
    answerHttp(App(), engine, { pattern: '/x', handle: async (exchange) => sendJson(exchange, 200, {}, await readJson(exchange)) });
    const none: OtherClients = { all: new Set(), isQuiet: () => true, dismiss: (client, reason) => [client.bufferedAmount, reason] };
    engine.otherClients.add(none);
    if (engine.load.level >= 3 || engine.load.rejectsMessages) throw new GjallarError('OVERLOADED');`,
  client: `import { DurableRooms, PresenceMap, Rooms, type SocketLike, StateMap } from 'gjallar/client';
    interface Events { status(status: { paid: boolean }): void }
    export async function follow(socket: SocketLike) {
      const live = new StateMap<{ bid: number }>(socket, 'quotes', { maxRate: 5 });
      new PresenceMap<string>(socket, 'hall').on('join', (user, data) => user.concat(data ?? '')).get('ada')?.length;
      live.on('change', (keys) => keys.map((key) => live.get(key)?.bid)).on('error', ({ code }) => code.length);
      const order = await new DurableRooms<Events>(socket).join('order:7', { last: 20 });
      order.on('status', ({ paid }) => paid === true);
      // @ts-expect-error: no such event
      order.on('sattus', () => {});
      const hall = await new Rooms(socket).join('hall');
      hall.on('message', ({ text }) => text.length);
      return [order.position?.offset, hall.members, await order.leave()];
    }`,
};

/** The kind of the application's package, and its options of tsc. Without skipLibCheck, declarations are checked as well. */
const settings = [
  ['module', 'nodenext'],
  ['module', 'node16'],
  ['module', 'esnext', '--moduleResolution', 'bundler'],
  ['commonjs', 'nodenext'],
  ['commonjs', 'node16'],
  ['commonjs', 'node20'],
] as const;

function compile(type: string, options: readonly string[]): string[] {
  const names = Object.keys(programs);
  const folder = join(installed.folder, `${type}-${options.join('')}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }));
  for (const name of names) {
    // Only ES modules may wait outside of a function.
    const text = programs[name as keyof typeof programs];
    writeFileSync(
      join(folder, `${name}.ts`),
      type === 'module'
        ? text
        : text
            .replace('= await SqliteHistoryStore', '= {} as SqliteHistoryStore; void SqliteHistoryStore')
            .replace(/await store/, 'store'),
    );
  }
  const args = ['--noEmit', '--strict', '--target', 'es2022', '--types', 'node', '--module', ...options];
  const files = names.map((name) => `${name}.ts`);
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, ...args, ...files], { cwd: folder, encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes('error TS'));
}

mkdirSync(join(installed.modules, '@types'), { recursive: true });
symlinkSync(join(root, 'node_modules', '@types', 'node'), join(installed.modules, '@types', 'node'));

test.each(settings)('small programs compile in a package of type %s with --module %s', (type, ...options) => {
  expect(compile(type, options)).toEqual([]);
});
