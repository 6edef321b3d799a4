import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import type { ReachableServers, ServerDescription, ServerTarget } from '../../src/rooms/cluster/servers.js';
import { nextEvent } from '../support/clients.js';
import { RedisProcess } from '../support/redis.js';
import { until } from '../support/until.js';
import { type RunningApplication, runApp, stopAll } from './support/application.js';

/** A client of each worker, and the worker's own description. */
interface Seat {
  readonly socket: Socket;
  readonly server: ServerDescription;
}

const sockets: Socket[] = [];
let redis: RedisProcess;
const env = () => ({ REDIS_URL: redis.url });
let alone: RunningApplication;
let onRedis: RunningApplication;

beforeAll(async () => {
  redis = await RedisProcess.start();
  alone = await runApp('parts/servers.mjs', { args: ['--workers', '3'] });
  onRedis = await runApp('parts/servers.mjs', { args: ['--workers', '3'], env: env() });
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.disconnect();
});
afterAll(async () => {
  await stopAll();
  await redis.remove();
});

const listFor = (socket: Socket, name = '/'): Promise<ReachableServers> => socket.emitWithAck('servers', name);

/** Waits until a client of each worker is connected and all workers know of each other. */
async function seatsOf({ url }: RunningApplication, workers: number, total = workers): Promise<Seat[]> {
  const found = new Map<string, Seat>();
  while (found.size < workers) {
    const socket = io(url, { forceNew: true, transports: ['websocket'], reconnection: false });
    sockets.push(socket);
    await nextEvent(socket, 'connect');
    await until(async () => (await listFor(socket)).servers.length === total);
    const [server] = (await listFor(socket)).servers as [ServerDescription];
    if (found.has(server.id)) socket.disconnect();
    else found.set(server.id, { socket, server });
  }
  return [...found.values()].sort((a, b) => a.server.worker! - b.server.worker!);
}

const ids = (servers: readonly ServerDescription[]) => servers.map(({ id }) => id).sort();

/** What each worker has heard once one of them has told targets something. */
async function told(seats: Seat[], from: Seat, to: ServerTarget | ServerTarget[], name = '/'): Promise<unknown[][]> {
  from.socket.emit('tell', name, to, 7, { deep: [Buffer.from([1, 2])] });
  expect(await from.socket.emitWithAck('fence', name)).toBeFalsy();
  return Promise.all(seats.map(({ socket }) => socket.emitWithAck('told') as Promise<unknown[]>));
}

const said = (name = '/') => [[name, 7, { deep: [Buffer.from([1, 2])] }]];

test.each(['embedded', 'redis'])(
  'each worker lists all others and reaches the named ones, on the bus %s',
  async (bus) => {
    const seats = await seatsOf(bus === 'redis' ? onRedis : alone, 3);
    const [one, two, three] = seats as [Seat, Seat, Seat];
    expect(new Set(seats.map(({ server }) => server.pid)).size).toBe(3);
    expect(new Set(seats.map(({ server }) => server.worker)).size).toBe(3);
    for (const name of ['/', '/custom']) {
      for (const { socket, server } of seats) {
        const { servers, isComplete } = await listFor(socket, name);
        expect(isComplete).toBe(true);
        expect(servers[0]).toEqual(server);
        expect(ids(servers)).toEqual(ids(seats.map((seat) => seat.server)));
      }
      expect(await told(seats, one, two.server, name)).toEqual([[], said(name), []]);
      expect(await told(seats, one, { worker: one.server.worker! }, name)).toEqual([said(name), [], []]);
      expect(await told(seats, two, [{ pid: three.server.pid }, three.server], name)).toEqual([[], [], said(name)]);
      const { host } = one.server;
      expect(await told(seats, three, { host }, name)).toEqual([said(name), said(name), said(name)]);
      expect(await told(seats, three, [{}, { host: `not ${host}` }], name)).toEqual([[], [], []]);
    }
  },
  60_000,
);

test('a killed worker leaves the list, and the one after it has an id of its own', async () => {
  const [one, two] = (await seatsOf(alone, 3)) as [Seat, Seat, Seat];
  const before = ids((await listFor(one.socket)).servers);
  const gone = nextEvent(two.socket, 'disconnect');
  two.socket.emit('crash');
  await gone;
  await until(async () => {
    const { servers, isComplete } = await listFor(one.socket);
    return isComplete && servers.length === 3 && !ids(servers).includes(two.server.id);
  });
  const seats = await seatsOf(alone, 3);
  const after = seats.find(({ server }) => !before.includes(server.id))!;
  expect(after.server.pid).not.toBe(two.server.pid);
  const heard = await told(seats, seats.find((seat) => seat !== after)!, [after.server, two.server]);
  expect(heard).toEqual(seats.map((seat) => (seat === after ? said() : [])));
});

test('two machines on one Redis: a number of a worker means one on each, an id one alone', async () => {
  const second = await runApp('parts/servers.mjs', { args: ['--workers', '2'], env: env() });
  const [here, there] = await Promise.all([seatsOf(onRedis, 3, 5), seatsOf(second, 2, 5)]);
  const seats = [...here, ...there];
  expect(new Set(ids(seats.map(({ server }) => server))).size).toBe(5);
  const [first] = here as [Seat, Seat, Seat];
  const [other] = there as [Seat, Seat];
  expect(other.server.worker).toBe(first.server.worker);
  expect(await told(seats, first, { worker: first.server.worker! })).toEqual([said(), [], [], said(), []]);
  expect(await told(seats, first, other.server)).toEqual([[], [], [], said(), []]);
});
