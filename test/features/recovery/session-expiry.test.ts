import { afterAll, expect, test } from '@jest/globals';
import { SessionAwareAdapter } from 'socket.io-adapter';
import type { Backplane } from '../../../src/cluster/backplanes/backplane.js';
import type { ExpiredSession } from '../../../src/features/recovery/messages.js';
import { openRecovery } from '../../../src/features/recovery/recovery.js';
import { watchExpiries } from '../../../src/features/recovery/session-expiry.js';
import { LocalAdapter } from '../../../src/io/rooms/index.js';
import { startMember, startNode, type TestNode } from '../../io/rooms/support/node.js';
import { nextEvent } from '../../support/clients.js';
import { temporaryFolder } from '../../support/folder.js';
import { RedisProcess } from '../../support/redis.js';
import { until } from '../../support/until.js';
import { joinerOf, joinMesh, Wanderer } from './support/recovering.js';

interface Worker extends TestNode {
  bus: Backplane;
  expired: ExpiredSession[];
}

/** Each with the URL of the worker that it came to first. */
const clients = new Map<Wanderer, string>();
const often = { sweepMs: 200 };
const recovery = { maxDisconnectionDuration: 2000, skipMiddlewares: true };

afterAll(() => {
  for (const client of clients.keys()) client.close();
});

/** The workers of one test. */
class Scene {
  workers: Worker[] = [];
  private readonly urls = new Set<string>();
  private readonly directory = temporaryFolder();

  async start(bus: Backplane): Promise<Worker> {
    const node = await startMember(bus, { server: { connectionStateRecovery: recovery } });
    const expired: ExpiredSession[] = [];
    watchExpiries(node.io, (session) => expired.push(session));
    node.io.on('connection', (socket) => {
      socket.data.name ??= 'ada';
      void socket.join('room');
      socket.emit('n', 'hello', 0);
    });
    this.workers.push({ ...node, expired });
    this.urls.add(node.url);
    return this.workers.at(-1)!;
  }

  async onMesh(count: number): Promise<Worker[]> {
    for (let id = 1; id <= count; id++) {
      const others = Array.from({ length: id - 1 }, (_, at) => at + 1);
      await this.start(await joinMesh(this.directory, id, others, often));
    }
    return this.workers;
  }

  all(): string[] {
    return this.workers.flatMap(({ expired }) => expired.map(({ id }) => id));
  }

  has(id: string): () => boolean {
    return () => this.all().includes(id);
  }

  /** Each worker has looked through its sessions after this call began. */
  async allHaveSwept(): Promise<string[]> {
    const ids = await Promise.all(this.workers.map(leave));
    for (const id of ids) await until(this.has(id));
    return ids;
  }

  async end(): Promise<void> {
    for (const [client, url] of clients) if (this.urls.has(url)) client.close();
    for (const worker of this.workers) await worker.close();
  }
}

/** All tests wait for the end of sessions: at the same time, each with workers of its own. */
const inScene = (run: (scene: Scene) => Promise<void>) => async () => {
  const scene = new Scene();
  try {
    await run(scene);
  } finally {
    await scene.end();
  }
};

async function clientOf({ url }: Worker): Promise<Wanderer> {
  const client = new Wanderer(url, 'websocket');
  clients.set(client, url);
  await client.connected();
  await client.heardAll(1);
  return client;
}

/** Lets a client of a worker leave for good. */
async function leave(worker: Worker): Promise<string> {
  const client = await clientOf(worker);
  const { id } = client.socket;
  await client.cutOff();
  return id!;
}

test.concurrent(
  'one worker is told, once, and not of clients that return',
  inScene(async (scene) => {
    const [one, two] = (await scene.onMesh(3)) as [Worker, Worker];
    const returning = await clientOf(two);
    await returning.cutOff();
    await returning.comeBack(one.url);
    const id = await leave(one);
    await until(scene.has(id));
    expect(one.expired).toEqual([{ id, rooms: ['room'], data: { name: 'ada' } }]);
    const others = await scene.allHaveSwept();
    expect(scene.all().sort()).toEqual([id, ...others].sort());
  }),
  60_000,
);

test.concurrent(
  'another worker is told if the one that served the client is gone',
  inScene(async (scene) => {
    const [one, two] = (await scene.onMesh(3)) as [Worker, Worker];
    const id = await leave(two);
    const connected = await clientOf(two);
    const { id: killed } = connected.socket;
    // The keeper gets copies of its sessions before others get its broadcasts.
    const witness = await clientOf(one);
    two.io.emit('n', 'fence', 1);
    await until(() => witness.of('fence').length === 1);
    // Its death, to the others.
    two.bus.close();
    scene.workers = scene.workers.filter((worker) => worker !== two);
    await two.close();
    await until(() => scene.has(id)() && scene.has(killed!)());
    const others = await scene.allHaveSwept();
    expect(scene.all().sort()).toEqual([id, killed, ...others].sort());
    expect(one.expired).toContainEqual({ id: killed, rooms: ['room'], data: { name: 'ada' } });
  }),
  60_000,
);

test.concurrent(
  'sessions that the operator ends, or that cannot be recovered, are told',
  inScene(async (scene) => {
    const [one, two] = (await scene.onMesh(2)) as [Worker, Worker];
    const ended = await leave(one);
    for (const { bus } of scene.workers) bus.removeSessions!({ id: ended });
    await until(scene.has(ended));
    const client = await clientOf(one);
    const { id } = client.socket;
    await client.cutOff();
    // It names an event that was sent later than all that it can have received.
    const later = (Date.now() + 60_000).toString(36);
    (client.socket as unknown as { _lastOffset: string })._lastOffset = `g~${later}~none.0`;
    await client.comeBack(two.url);
    await until(scene.has(id!));
    const others = await scene.allHaveSwept();
    expect(scene.all().sort()).toEqual([ended, id, ...others].sort());
  }),
  60_000,
);

// Concurrent tests must not import anything.
const redis = await RedisProcess.start();
const onFrames = await joinerOf({ bus: 'redis-frames', redisUrl: redis.url });
afterAll(() => redis.remove());

test.concurrent(
  'on machines, one is told',
  async () =>
    inScene(async (scene) => {
      for (let count = 0; count < 2; count++) await scene.start(onFrames(often));
      for (const { io } of scene.workers) await until(async () => (await io.of('/').adapter.serverCount()) === 2);
      const [one] = scene.workers as [Worker];
      const id = await leave(one);
      await until(scene.has(id));
      expect(one.expired).toEqual([{ id, rooms: ['room'], data: { name: 'ada' } }]);
      const others = await scene.allHaveSwept();
      expect(scene.all().sort()).toEqual([id, ...others].sort());
    })(),
  60_000,
);

/** The adapter of a process without other workers. */
const alone = openRecovery(often).wrap((nsp) => new LocalAdapter(nsp));

test.concurrent('a process alone', async () => {
  const node = await startNode(alone, { server: { connectionStateRecovery: recovery } });
  const expired: ExpiredSession[] = [];
  const end = watchExpiries(node.io, (session) => expired.push(session));
  try {
    node.io.on('connection', (socket) => socket.emit('n', 'hello', 0));
    const id = await leave({ ...node, expired } as never);
    await until(() => expired.length > 0);
    expect(expired).toEqual([{ id, rooms: [], data: {} }]);
    end();
  } finally {
    await node.close();
  }
  const without = await startNode(alone);
  expect(() => watchExpiries(without.io, () => {})).toThrow('connectionStateRecovery');
  await without.close();
  const stock = await startNode((nsp) => new SessionAwareAdapter(nsp), {
    server: { connectionStateRecovery: recovery },
  });
  expect(() => watchExpiries(stock.io, () => {})).toThrow('SessionAwareAdapter does not tell');
  await stock.close();
});

test.concurrent('a client whose session is restored, and whom a middleware rejects, has not returned', async () => {
  const server = { connectionStateRecovery: { ...recovery, skipMiddlewares: false } };
  const node = await startNode(alone, { server });
  const expired: ExpiredSession[] = [];
  watchExpiries(node.io, (session) => expired.push(session));
  let rejects = false;
  node.io.use((_socket, next) => next(rejects ? new Error('rejected') : undefined));
  node.io.on('connection', (socket) => socket.emit('n', 'hello', 0));
  try {
    const returning = await clientOf({ ...node, expired } as never);
    const { id: stays } = returning.socket;
    await returning.cutOff();
    await returning.comeBack(node.url);
    expect(returning.recovered).toEqual([true]);
    const client = await clientOf({ ...node, expired } as never);
    const { id } = client.socket;
    await client.cutOff();
    rejects = true;
    const rejected = nextEvent(client.socket, 'connect_error');
    client.socket.connect();
    await rejected;
    await until(() => expired.length > 0);
    expect(expired.map((session) => session.id)).toEqual([id]);
    expect(stays).not.toBe(id);
  } finally {
    await node.close();
  }
});
