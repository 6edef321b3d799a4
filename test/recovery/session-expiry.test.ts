import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Backplane } from '../../src/backplanes/backplane.js';
import { Expiries } from '../../src/recovery/kept/expiries.js';
import { type ExpiredSession, onSessionExpired } from '../../src/recovery/session-expiry.js';
import { inMemory } from '../../src/rooms/in-memory.js';
import { startMember, startNode, type TestNode } from '../rooms/support/node.js';
import { nextEvent } from '../support/clients.js';
import { NatsProcess } from '../support/nats.js';
import { RedisProcess } from '../support/redis.js';
import { until } from '../support/until.js';
import { joinMesh, joinNats, joinRedis, Wanderer } from './support/recovering.js';

interface Worker extends TestNode {
  bus: Backplane;
  expired: ExpiredSession[];
}

let directory: string;
let workers: Worker[] = [];
const clients: Wanderer[] = [];
const often = { sweepMs: 200 };
const recovery = { maxDisconnectionDuration: 2000, skipMiddlewares: true };

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gjallar-recovery-'));
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const worker of workers) await worker.close();
  workers = [];
  rmSync(directory, { recursive: true, force: true });
});

async function start(bus: Backplane): Promise<Worker> {
  const node = await startMember(bus, { server: { connectionStateRecovery: recovery } });
  const expired: ExpiredSession[] = [];
  onSessionExpired(node.io, (session) => expired.push(session));
  node.io.on('connection', (socket) => {
    socket.data.name ??= 'ada';
    void socket.join('room');
    socket.emit('n', 'hello', 0);
  });
  workers.push({ ...node, expired });
  return workers.at(-1)!;
}

async function onMesh(count: number): Promise<Worker[]> {
  for (let id = 1; id <= count; id++) {
    await start(
      await joinMesh(
        directory,
        id,
        Array.from({ length: id - 1 }, (_, at) => at + 1),
        often,
      ),
    );
  }
  return workers;
}

async function clientOf({ url }: Worker): Promise<Wanderer> {
  const client = new Wanderer(url, 'websocket');
  clients.push(client);
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

const all = () => workers.flatMap(({ expired }) => expired.map(({ id }) => id));
const has = (id: string) => () => all().includes(id);

/** Each worker has looked through its sessions after this call began. */
async function allHaveSwept(): Promise<string[]> {
  const ids = await Promise.all(workers.map(leave));
  for (const id of ids) await until(has(id));
  return ids;
}

test('one worker is told, once, and not of clients that return', async () => {
  const [one, two] = (await onMesh(3)) as [Worker, Worker];
  const returning = await clientOf(two);
  await returning.cutOff();
  await returning.comeBack(one.url);
  const id = await leave(one);
  await until(has(id));
  expect(one.expired).toEqual([{ id, rooms: ['room'], data: { name: 'ada' } }]);
  const others = await allHaveSwept();
  expect(all().sort()).toEqual([id, ...others].sort());
}, 60_000);

test('another worker is told if the one that served the client is gone', async () => {
  const [one, two] = (await onMesh(3)) as [Worker, Worker];
  const id = await leave(two);
  const connected = await clientOf(two);
  const { id: killed } = connected.socket;
  // Its buddy gets copies of its sessions before others get its broadcasts.
  const witness = await clientOf(one);
  two.io.emit('n', 'fence', 1);
  await until(() => witness.of('fence').length === 1);
  // Its death, to the others.
  two.bus.close();
  workers = workers.filter((worker) => worker !== two);
  await two.close();
  await until(() => has(id)() && has(killed!)());
  const others = await allHaveSwept();
  expect(all().sort()).toEqual([id, killed, ...others].sort());
  expect(one.expired).toContainEqual({ id: killed, rooms: ['room'], data: { name: 'ada' } });
}, 60_000);

test('sessions that the operator ends, or that cannot be recovered, are told', async () => {
  const [one, two] = (await onMesh(2)) as [Worker, Worker];
  const ended = await leave(one);
  for (const { bus } of workers) bus.removeSessions!({ id: ended });
  await until(has(ended));
  const client = await clientOf(one);
  const { id } = client.socket;
  await client.cutOff();
  (client.socket as unknown as { _lastOffset: string })._lastOffset = 'g~1~none.0';
  await client.comeBack(two.url);
  await until(has(id!));
  const others = await allHaveSwept();
  expect(all().sort()).toEqual([ended, id, ...others].sort());
}, 60_000);

test.each([
  ['redis-frames', RedisProcess, (url: string) => joinRedis(url, often, 'redis-frames')],
  ['redis', RedisProcess, (url: string) => joinRedis(url, often)],
  ['nats', NatsProcess, (url: string) => joinNats(url, often)],
])(
  'machines on %s tell each other that it is told',
  async (_name, Process, open) => {
    const server = await Process.start();
    try {
      for (let count = 0; count < 2; count++) await start(await open(server.url));
      for (const { io } of workers) await until(async () => (await io.of('/').adapter.serverCount()) === 2);
      const [one] = workers as [Worker];
      const id = await leave(one);
      await until(has(id));
      expect(one.expired).toEqual([{ id, rooms: ['room'], data: { name: 'ada' } }]);
      const others = await allHaveSwept();
      expect(all().sort()).toEqual([id, ...others].sort());
    } finally {
      for (const client of clients.splice(0)) client.close();
      for (const worker of workers.splice(0)) await worker.close();
      await server.remove();
    }
  },
  60_000,
);

// The two that follow have a node of their own, which looks through its sessions every two seconds.
test.concurrent('a process alone, with the adapter of Socket.IO', async () => {
  const node = await startNode(inMemory, { server: { connectionStateRecovery: recovery } });
  const expired: ExpiredSession[] = [];
  const end = onSessionExpired(node.io, (session) => expired.push(session));
  try {
    node.io.on('connection', (socket) => socket.emit('n', 'hello', 0));
    const id = await leave({ ...node, expired } as never);
    await until(() => expired.length > 0);
    expect(expired).toEqual([{ id, rooms: [], data: {} }]);
    end();
  } finally {
    await node.close();
  }
  const without = await startNode(inMemory);
  expect(() => onSessionExpired(without.io, () => {})).toThrow('connectionStateRecovery');
  await without.close();
}, 30_000);

test.concurrent('a client whose session is restored, and whom a middleware rejects, has not returned', async () => {
  const server = { connectionStateRecovery: { ...recovery, skipMiddlewares: false } };
  const node = await startNode(inMemory, { server });
  const expired: ExpiredSession[] = [];
  onSessionExpired(node.io, (session) => expired.push(session));
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
}, 30_000);

test('after the death of a machine, the first of the others reports its sessions', () => {
  const told: string[] = [];
  const machines = [9000, 20_000].map((delay, index) => {
    const expiries: Expiries = new Expiries({
      ...{ durationMs: () => 1000, maxSessions: 2, delayOf: () => delay },
      tell: ({ pid }) => {
        for (const other of machines) if (other !== expiries) other.forget(pid);
      },
    });
    expiries.listen(({ id }) => told.push(`${index} ${id}`), []);
    return expiries;
  });
  const session = { worker: 'gone', rooms: ['room'], data: 'large', recoveries: 0, disconnectedAt: 0 };
  for (const expiries of machines) {
    for (const sid of ['a', 'b', 'c']) expiries.add({ ...session, pid: sid, sid });
    expiries.shrink('b');
  }
  for (const now of [999, 9999]) for (const expiries of machines) expiries.sweep(now);
  expect(told).toEqual([]);
  for (const now of [10_001, 30_000]) for (const expiries of machines) expiries.sweep(now);
  // Beyond the bound, the oldest are forgotten.
  expect(told).toEqual(['0 b', '0 c']);
  machines[0]!.close();
});
