import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, jest, test } from '@jest/globals';
import { createAdapter as createRedisAdapter } from '@socket.io/redis-adapter';
import { createAdapter as createStreamsAdapter } from '@socket.io/redis-streams-adapter';
import { Redis } from 'ioredis';
import { Server } from 'socket.io';
import { SessionAwareAdapter } from 'socket.io-adapter';
import { type Socket as Client, io as connect } from 'socket.io-client';
import { createAdapter, Engine } from '../../../src/index.js';
import type { AdapterFactory } from '../../../src/io/rooms/native-rooms.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { startNode, type TestNode } from '../../io/rooms/support/node.js';
import { nextEvent } from '../../support/clients.js';
import { RedisProcess, until, untilAlone } from '../../support/redis.js';

setFlagsFromString('--expose-gc');

const server = { connectionStateRecovery: {} };
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(bus: AdapterFactory): Promise<TestNode> {
  const node = await startNode(bus, { server });
  closers.push(() => node.close());
  node.io.on('connection', (socket) => {
    socket.on('join', async (room: string, done: () => void) => {
      await socket.join(room);
      done();
    });
  });
  return node;
}

/** A client that keeps what it hears, without the offsets that recovery puts behind it. */
function listen(url: string): { socket: Client; heard: unknown[] } {
  const socket = connect(url, { forceNew: true, transports: ['websocket'], reconnection: false });
  closers.push(() => socket.disconnect());
  const heard: unknown[] = [];
  socket.on('n', (n: unknown) => heard.push(n));
  return { socket, heard };
}

async function connected(socket: Client): Promise<void> {
  if (!socket.connected) await nextEvent(socket, 'connect');
}

async function cutOff(socket: Client): Promise<void> {
  const gone = nextEvent(socket, 'disconnect');
  socket.io.engine.close();
  await gone;
}

async function comeBack(socket: Client, url?: string): Promise<void> {
  if (url) (socket.io as unknown as { uri: string }).uri = url;
  const back = nextEvent(socket, 'connect');
  socket.connect();
  await back;
}

test('a server that stands alone recovers rooms and missed packets, in order, also into topics', async () => {
  const { io, url } = await start(alone);
  const clients = Array.from({ length: 5 }, () => listen(url));
  for (const { socket } of clients) {
    await connected(socket);
    await socket.emitWithAck('join', 'room');
  }
  const [lost, other] = clients as [(typeof clients)[0], (typeof clients)[0]];
  const all = (from: number, to: number) => {
    for (let n = from; n < to; n++) {
      if (n % 3 === 0) io.emit('n', n);
      else io.to('room').emit('n', n);
    }
  };
  all(0, 10);
  await until(() => clients.every(({ heard }) => heard.length === 10));
  const { id } = lost.socket;
  await cutOff(lost.socket);
  await until(() => io.of('/').sockets.size === 4);
  all(10, 20);
  io.to('elsewhere').emit('n', 'not for this room');
  await comeBack(lost.socket);
  expect(lost.socket.recovered).toBe(true);
  expect(lost.socket.id).toBe(id);
  expect([...io.of('/').sockets.get(id!)!.rooms].sort()).toEqual([id, 'room'].sort());
  all(20, 30);
  io.of('/').sockets.get(id!)!.emit('n', 30);
  const expected = Array.from({ length: 30 }, (_, n) => n);
  await until(() => lost.heard.length === 31 && other.heard.length === 30);
  expect(lost.heard).toEqual([...expected, 30]);
  expect(other.heard).toEqual(expected);
});

test('a server that stands alone keeps the session of a client that has received no event yet', async () => {
  const { io, url } = await start(alone);
  const { socket, heard } = listen(url);
  await connected(socket);
  const { id } = socket;
  io.in(id!).socketsJoin('room');
  await cutOff(socket);
  await until(() => io.of('/').sockets.size === 0);
  io.to('room').emit('n', 1);
  await comeBack(socket);
  await until(() => heard.length === 1);
  expect({ recovered: socket.recovered, id: socket.id, heard }).toEqual({ recovered: true, id, heard: [1] });
});

test.each([undefined, {}])(
  'empty child namespaces are collected, with recovery %p',
  async (connectionStateRecovery) => {
    const node = await startNode(alone, {
      server: { cleanupEmptyChildNamespaces: true, ...(connectionStateRecovery && { connectionStateRecovery }) },
    });
    closers.push(() => node.close());
    const namespaces: WeakRef<object>[] = [];
    node.io.of(/^\/child-/).on('connection', (socket) => {
      namespaces.push(new WeakRef(socket.nsp));
      socket.emit('n', 1);
    });
    for (let count = 0; count < 30; count++) {
      const socket = connect(`${node.url}/child-${count}`, {
        forceNew: true,
        transports: ['websocket'],
        reconnection: false,
      });
      await nextEvent(socket, 'n');
      socket.disconnect();
    }
    const collect = (globalThis as { gc?: () => void }).gc ?? (runInNewContext('gc') as () => void);
    await until(() => {
      collect();
      return namespaces.filter((namespace) => namespace.deref()).length <= 1;
    });
    expect(namespaces).toHaveLength(30);
  },
);

test('on Redis streams a client recovers on another worker', async () => {
  const redis = await RedisProcess.start();
  closers.push(() => redis.remove());
  const observer = new Redis(redis.url);
  closers.push(async () => {
    // The adapter closes its own connections when it pleases, and would go on trying if Redis went first.
    await untilAlone(observer);
    observer.disconnect();
  });
  const nodes: TestNode[] = [];
  for (let count = 0; count < 2; count++) {
    const publisher = new Redis(redis.url);
    // In order, behind what it still has to keep.
    closers.push(() => publisher.quit());
    nodes.push(await start(createStreamsAdapter(publisher, { blockTimeInMs: 100 }) as AdapterFactory));
  }
  const [first, second] = nodes as [TestNode, TestNode];
  for (const { io } of nodes) await until(async () => (await io.of('/').adapter.serverCount()) === 2);
  const { socket, heard } = listen(first.url);
  await connected(socket);
  await socket.emitWithAck('join', 'room');
  const { id } = socket;
  // The adapter begins to read with the first read it makes.
  const repeat = setInterval(() => second.io.to('room').emit('n', 0), 20);
  await until(() => heard.length > 0);
  clearInterval(repeat);
  await cutOff(socket);
  await until(() => first.io.of('/').sockets.size === 0);
  const before = heard.length;
  second.io.to('room').emit('n', 'missed');
  first.io.to('elsewhere').emit('n', 'not for this room');
  await comeBack(socket, second.url);
  expect(socket.recovered).toBe(true);
  expect(socket.id).toBe(id);
  first.io.to('room').emit('n', 'after');
  await until(() => heard.at(-1) === 'after');
  expect(heard.slice(before).filter((n) => n !== 0)).toEqual(['missed', 'after']);
});

test('recovery is turned off, with a warning, where the bus cannot recover anything', async () => {
  const clients = [1, 2].map(() => new Redis({ lazyConnect: true, enableOfflineQueue: false })) as [Redis, Redis];
  for (const client of clients) client.sendCommand = (command) => command.promise as Promise<unknown>;
  const engine = new Engine();
  closers.push(() => engine.close());
  const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const adapter = createAdapter(engine, createRedisAdapter(...clients) as AdapterFactory) as never;
  const recoveryOf = (io: Server) => (io as unknown as { opts: typeof server }).opts.connectionStateRecovery;
  expect(recoveryOf(new Server({ ...server, adapter }))).toBeUndefined();
  new Server({ adapter });
  expect(recoveryOf(new Server({ ...server, adapter: createAdapter(engine) as never }))).toBeDefined();
  expect(
    recoveryOf(new Server({ ...server, adapter: createAdapter(engine, SessionAwareAdapter) as never })),
  ).toBeDefined();
  expect(warn.mock.calls).toEqual([
    [
      expect.stringMatching(/RedisAdapter.*redis-streams-adapter/),
      { type: 'GjallarWarning', code: 'GJALLAR_NO_RECOVERY' },
    ],
  ]);
  warn.mockRestore();
});
