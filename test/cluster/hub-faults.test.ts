import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { framesBackplane } from '../../src/cluster/backplanes/frames/open.js';
import { HUB, Mesh } from '../../src/cluster/mesh/mesh.js';
import { Node } from '../../src/cluster/node.js';
import { socketOf } from '../../src/cluster/protocol.js';
import { openHubFrame } from '../../src/cluster/wire/hub-frame.js';
import { types } from '../../src/cluster/wire/types.js';
import { ownWindow } from '../../src/engine/delivery/shared-window.js';
import { disconnectAll as disconnectPairs, pairOn } from '../io/rooms/support/clients.js';
import { onRedisFrames, startMember } from '../io/rooms/support/node.js';
import { connect, disconnectAll, expectOk, nextEvent, upgraded } from '../support/clients.js';
import { temporaryFolder } from '../support/folder.js';
import { RedisProcess, until } from '../support/redis.js';
import { type RunningServer, startServer } from '../support/server.js';
import { shared } from '../support/shared.js';
import { expectOnceAndInOrder } from '../support/talk.js';
import { toldBy } from './backplanes/support/told.js';
import { hubThread } from './support/hub-thread.js';

/** How often the hub is killed. `HUB_DEATHS=100` kills it as often as the guarantees were tried. */
const DEATHS = Number(process.env.HUB_DEATHS ?? 3);

const redis = shared(
  () => RedisProcess.start(),
  (started) => started.remove(),
);
afterEach(disconnectAll);

/** The numbers that are missing, as runs that follow each other without one that arrived. */
function gapsIn(numbers: readonly number[]): number {
  return numbers.filter((number, index) => index > 0 && number !== numbers[index - 1]! + 1).length;
}

test(
  `a hub that is killed ${DEATHS} times under load loses what is on its way once each time, and repeats nothing`,
  async () => {
    const directory = temporaryFolder();
    const mesh = new Mesh(1, directory);
    const address = { server: 'redis', url: redis.url, prefix: 'socket.io' } as const;
    const logged: string[] = [];
    const thread = hubThread(directory, 'machine0', [1], { address, logged });
    const timers: NodeJS.Timeout[] = [];
    try {
      const node = new Node(mesh, 'machine0', false);
      await mesh.listen();
      await thread.start();
      await mesh.join([HUB]);
      const bus = framesBackplane('redis-frames', { node, window: ownWindow() });
      const told = toldBy(bus);
      const members = [await startMember(bus), await startMember(onRedisFrames(redis.url))] as const;
      const pairs = [await pairOn(members[0]), await pairOn(members[1])] as const;
      const heard: [number[], number[]] = [[], []];
      const sent = [0, 0];
      for (const at of [0, 1] as const) {
        await pairs[at].socket.join('room');
        pairs[at].client.on('n', (from: number, number: number) => {
          if (from !== at) heard[from as 0 | 1].push(number);
        });
      }
      for (const at of [0, 1] as const) {
        timers.push(setInterval(() => members[at].io.to('room').emit('n', at, sent[at]!++), 2));
      }
      const flows = async () => {
        const from = [...sent];
        await until(() => heard.every((numbers, at) => numbers.at(-1)! >= from[at]! + 20));
      };
      await flows();
      expect(heard.map(gapsIn)).toEqual([0, 0]);
      for (let death = 1; death <= DEATHS; death++) {
        thread.end();
        await until(() => told.filter((word) => word !== 'up').length === death);
        await bus.ready();
        await flows();
        for (const numbers of heard) expect(gapsIn(numbers)).toBeLessThanOrEqual(death);
      }
      for (const numbers of heard) expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
      const ENDED = expect.stringMatching(/^the hub of this machine has ended/);
      expect(told).toEqual(['up', ...Array.from({ length: DEATHS }, () => [ENDED, 'up']).flat()]);
      expect(bus.health.outages).toBe(DEATHS);
      expect(logged.filter((text) => text.startsWith('the hub has ended'))).toHaveLength(DEATHS);
      for (const timer of timers) clearInterval(timer);
      disconnectPairs();
      for (const member of members) await member.close();
    } finally {
      for (const timer of timers) clearInterval(timer);
      mesh.close();
      await thread.close(1000);
    }
  },
  90_000 + 10_000 * DEATHS,
);

test('what a hub could not send as it ended is logged', async () => {
  const hanging = await RedisProcess.start();
  const directory = temporaryFolder();
  const mesh = new Mesh(1, directory);
  const address = { server: 'redis', url: hanging.url, prefix: 'socket.io' } as const;
  const logged: string[] = [];
  const thread = hubThread(directory, 'machine0', [1], { address, logged });
  const other = await startMember(onRedisFrames(hanging.url));
  try {
    await mesh.listen();
    await thread.start();
    await mesh.join([HUB]);
    const bus = framesBackplane('redis-frames', { node: new Node(mesh, 'machine0', false), window: ownWindow() });
    const member = await startMember(bus);
    hanging.signal('SIGSTOP');
    member.io.emit('n');
    await member.close();
    mesh.close();
    await thread.close(20_000);
    expect(logged).toEqual([expect.stringMatching(/^messages to other machines were lost/)]);
  } finally {
    hanging.signal('SIGCONT');
    await other.close();
    await hanging.remove();
  }
}, 60_000);

test('a hub that hangs is a problem of its machine, and is replaced', async () => {
  const HANG_HUB = join(tmpdir(), `gjallar-hang-${process.pid}`);
  const hanging = fileURLToPath(new URL('support/hanging-hub.cjs', import.meta.url));
  const server = await startServer({ HANG_HUB, NODE_OPTIONS: `--require "${hanging}"` });
  const problems = async () => {
    const { problems } = (await (await fetch(`${server.url}/readyz`)).json()) as { problems: { code: string }[] };
    return problems.map(({ code }) => code).join();
  };
  try {
    const clients = Array.from({ length: 4 }, () => connect(server.url));
    await Promise.all(clients.map(upgraded));
    expect(await problems()).toBe('');
    await writeFile(HANG_HUB, '');
    for (const expected of ['HUB_SILENT', '']) await until(async () => (await problems()) === expected);
    // Each worker reports the beginning and the end of both.
    const reports = (code: string) => server.log.filter((line) => line.code === code).map(({ worker }) => worker);
    for (const code of ['HUB_SILENT', 'HUB_ENDED']) {
      await until(() => reports(code).length >= 4);
      expect(reports(code).sort()).toEqual([1, 1, 2, 2]);
    }
    // The list of rooms is a state room.
    for (const client of clients) expectOk(await client.emitWithAck('join', 'again'));
    await expectOnceAndInOrder(clients, 'again', 5);
  } finally {
    await server.stop();
    await rm(HANG_HUB, { force: true });
  }
}, 90_000);

test('a hub that is replaced while a worker keeps its event loop busy connects the others', async () => {
  const directory = temporaryFolder();
  const mesh = new Mesh(1, directory);
  // The system accepts the link, and nobody reads it.
  const links: Socket[] = [];
  const busy = createServer((link) => links.push(link)).listen(socketOf(directory, 2));
  await once(busy, 'listening');
  const address = { server: 'redis', url: redis.url, prefix: 'busy' } as const;
  const thread = hubThread(directory, 'machine0', [1, 2], { address });
  const other = await startMember(onRedisFrames(redis.url, 'busy'));
  try {
    await mesh.listen();
    const node = new Node(mesh, 'machine0', false);
    await thread.start();
    await until(() => node.isUp);
    const member = await startMember(framesBackplane('redis-frames', { node, window: ownWindow() }));
    const { client } = await pairOn(other);
    const heard = nextEvent(client, 'across');
    member.io.emit('across', 1);
    expect(await heard).toEqual([1]);
    disconnectPairs();
    await member.close();
  } finally {
    mesh.close();
    for (const link of links) link.destroy();
    busy.close();
    await thread.close(1000);
    await other.close();
  }
});

/** Whether this system has clocks for each process. */
const hasOwnClocks = spawnSync('unshare', ['--time', '--monotonic', '30', 'true']).status === 0;
if (!hasOwnClocks) console.warn('The test of a machine with another clock is skipped: unshare --time does not work.');
/** The shell stays outside, and passes the signal on. */
const ANOTHER_CLOCK = [
  ...['unshare', '--time', '--monotonic', '30', '--boottime', '30'],
  ...['sh', '-c', '"$@" & trap "kill -TERM $!" TERM; wait $!; wait $!; exit $?', 'sh'],
];

(hasOwnClocks ? describe : describe.skip)('two machines of whose clocks one is 30 s off', () => {
  let servers: RunningServer[];

  beforeAll(async () => {
    const environment = { WORKERS: '2', REDIS_URL: redis.url, HISTORY_TTL: '0' };
    const late = fileURLToPath(new URL('support/late-clock.cjs', import.meta.url));
    servers = await Promise.all([
      startServer(environment),
      startServer({ ...environment, NODE_OPTIONS: `--require "${late}"` }, ANOTHER_CLOCK),
    ]);
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
  });

  test('hear each message once and in order, also in rooms that were joined just now', async () => {
    const clients = Array.from({ length: 20 }, (_, index) => connect(servers[index % 2]!.url));
    await Promise.all(clients.map(upgraded));
    for (const room of ['one', 'two', 'three']) {
      for (const client of clients) expectOk(await client.emitWithAck('join', room));
      await expectOnceAndInOrder(clients, room, 20);
    }
  });

  test('greet once a second, however many workers they have', async () => {
    const spy = new Redis(redis.url);
    const greetings = new Map<string, number[]>();
    await spy.subscribe('socket.io:frames:hubs');
    spy.on('messageBuffer', (_channel, bytes: Buffer) => {
      const { type, machine } = openHubFrame(bytes);
      expect(type).toBe(types.greeting);
      greetings.set(machine, [...(greetings.get(machine) ?? []), performance.now()]);
    });
    const COUNT = 5;
    await until(() => [...greetings.values()].filter((times) => times.length >= COUNT).length === 2);
    spy.disconnect();
    expect(greetings.size).toBe(2);
    for (const times of greetings.values()) {
      // Timers may be late, and catch up.
      expect(times.at(-1)! - times[0]!).toBeGreaterThan((times.length - 1) * 1000 - 500);
    }
  });
});
