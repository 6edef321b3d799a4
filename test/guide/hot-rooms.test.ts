import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectTo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type RunningApplication, runApp, stopAll } from '../host/run/support/application.js';
import { type ChatClient, connect, connected, disconnectAll, nextEvent, upgraded } from '../support/clients.js';
import { freePorts } from '../support/ports.js';
import { until } from '../support/until.js';
import { configurationOf, type RunningProxy, startProxy } from './support/placing-proxy.js';

const WORKERS = 3;
const PLACE_MAX = 10;
const CLIENTS = 25;
const ROOMS = ['doc-1', 'doc-2', 'doc-3', 'doc-4', 'a b', 'a+b', '0:hot', 'none', '#', '%[src]', '"', 'x'.repeat(300)];
const webSocket = { transports: ['websocket'] };

let folder: string;
let machines: RunningApplication[];
let proxy: RunningProxy;

/** Starts machines, and HAProxy as deploy/ configures it, with a smaller bound and a socket that shows its counts. */
async function start(count: number, workers: number): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), 'gjallar-hot-rooms-'));
  machines = [];
  const ports: number[] = [];
  for (let machine = 0; machine < count; machine++) {
    const first = await freePorts(workers);
    const env = {
      WORKERS: String(workers),
      WORKER_PORTS: String(first),
      TRUST_PROXY: '1',
      DRAIN_TIMEOUT: '0',
    };
    machines.push(await runApp('chat.mjs', { env }));
    ports.push(first);
  }
  const configuration = configurationOf('haproxy/hot-rooms.cfg', ports, workers).replaceAll(
    ' ge 1000 ',
    ` ge ${PLACE_MAX} `,
  );
  // Threads that choose at the same moment do not see each other's client: each further one could add one to a full worker.
  const global = `global\n    nbthread 1\n    stats socket ${folder}/stats level admin\n`;
  proxy = await startProxy('haproxy', `${global}${configuration}`);
}

async function stop(): Promise<void> {
  disconnectAll();
  await proxy.stop();
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}

/** How many WebSockets HAProxy counts for each rank of a key. */
async function countsOf(key: string): Promise<number[]> {
  const socket = connectTo(join(folder, 'stats'));
  socket.write('show table gjallar\n');
  const counts: number[] = [];
  for (const [, rank, name, count] of (await text(socket)).matchAll(/ key=(\d+):(\S+) .*conn_cur=(\d+)/g)) {
    if (name === key) counts[Number(rank)] = Number(count);
  }
  return counts;
}

const open = (count: number, room: string, options: object = webSocket) =>
  Array.from({ length: count }, () => connect(proxy.url, { query: { room }, ...options }));

const pidOf = (client: ChatClient) =>
  (client as never as { emitWithAck(event: 'pid'): Promise<number> }).emitWithAck('pid');

/** The workers of clients with the number of clients on each. */
async function tally(clients: ChatClient[]): Promise<Map<number, number>> {
  await Promise.all(clients.map(connected));
  const counts = new Map<number, number>();
  for (const pid of await Promise.all(clients.map(pidOf))) counts.set(pid, (counts.get(pid) ?? 0) + 1);
  return counts;
}

/** The worker that a room without other clients has. */
const pidFor = async (room: string) =>
  ((await (await fetch(`${proxy.url}/pid?room=${encodeURIComponent(room)}`)).json()) as { pid: number }).pid;

async function expectToHear(clients: ChatClient[]): Promise<void> {
  const heard = Promise.all(clients.map((client) => nextEvent(client, 'said')));
  (clients.at(-1) as never as { emit(...event: string[]): void }).emit('say', 'hello');
  expect(await heard).toEqual(clients.map(() => ['hello']));
}

describe('the clients of a room on one machine', () => {
  beforeAll(() => start(1, WORKERS), 60_000);
  afterAll(stop, 60_000);
  // Each test has a room of its own.
  afterEach(disconnectAll);

  test('a room with more clients than the bound fills one worker after the other, and other rooms stay', async () => {
    const owner = await pidFor('hot');
    const owners = await Promise.all(ROOMS.map(pidFor));
    const clients = open(CLIENTS, 'hot');
    const counts = await tally(clients);
    expect([...counts.values()].sort((a, b) => b - a)).toEqual([10, 10, 5]);
    expect(counts.get(owner)).toBe(PLACE_MAX);
    expect(await countsOf('hot')).toEqual([10, 10, 5]);
    await expectToHear(clients);

    const others = ROOMS.flatMap((room) => open(1, room));
    await Promise.all(others.map(connected));
    expect(await Promise.all(others.map(pidOf))).toEqual(owners);
    expect(await Promise.all(ROOMS.map(pidFor))).toEqual(owners);

    // Clients of the first worker leave, and as many come: the room fills the first worker again, and not the last one.
    const pids = await Promise.all(clients.map(pidOf));
    const first = clients.filter((_, index) => pids[index] === owner);
    const left = first.slice(0, 6);
    for (const client of left) client.disconnect();
    await until(async () => (await countsOf('hot'))[0] === PLACE_MAX - left.length);
    const back = open(left.length, 'hot');
    expect(await tally(back)).toEqual(new Map([[owner, left.length]]));
    await expectToHear([...clients.filter((client) => client.connected), ...back]);

    // All workers of the room are full: the rest goes by its address.
    const rest = open(8, 'hot');
    await Promise.all(rest.map(connected));
    expect(await countsOf('hot')).toEqual([10, 10, 10]);
  }, 120_000);

  test('clients that start on polling spill over when their WebSockets arrive', async () => {
    const clients = open(CLIENTS, 'polled', {});
    await Promise.all(clients.map(upgraded));
    expect(await countsOf('polled')).toEqual([10, 10, 5]);
    await expectToHear(clients);
  });

  test('clients on polling stay on the first worker, and clients without a key count nowhere', async () => {
    const owner = await pidFor('still');
    const clients = open(PLACE_MAX + 2, 'still', { transports: ['polling'] });
    expect(await tally(clients)).toEqual(new Map([[owner, clients.length]]));
    const without = Array.from({ length: 2 * PLACE_MAX }, () => connect(proxy.url, webSocket));
    expect((await tally(without)).size).toBe(1);
    expect(await countsOf('')).toEqual([]);
  });
});

test('the members on a machine that is gone come to the other one: the first of their room, or the second', async () => {
  await start(2, 1);
  try {
    // Each of the rooms begins on another machine.
    const owners = new Map<number, string>();
    for (let index = 0; owners.size < 2; index++) owners.set(await pidFor(`hot-${index}`), `hot-${index}`);
    const [[gone], [stays]] = [...owners] as [[number, string], [number, string]];
    const rooms = [...owners].map(([owner, room]) => ({ owner, clients: open(PLACE_MAX + 5, room) }));
    for (const { owner, clients } of rooms) {
      const other = owner === gone ? stays : gone;
      const counts = await tally(clients);
      expect(counts.size).toBe(2);
      expect([counts.get(owner), counts.get(other)]).toEqual([PLACE_MAX, 5]);
    }
    const clients = rooms.flatMap((room) => room.clients);
    const pids = await Promise.all(clients.map(pidOf));
    const moving = clients.filter((_, index) => pids[index] === gone);
    expect(moving).toHaveLength(PLACE_MAX + 5);
    const back = Promise.all(moving.map((client) => nextEvent(client, 'connect')));
    const first = (await (await fetch(`${machines[0]!.url}/pid`)).json()) as { pid: number };
    await machines[first.pid === gone ? 0 : 1]!.stop();
    await back;
    for (const room of rooms) expect(await tally(room.clients)).toEqual(new Map([[stays, room.clients.length]]));
  } finally {
    await stop();
  }
});
