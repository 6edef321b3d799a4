import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type DurableMessage, DurableRooms as Helper } from '../../../public/gjallar-client.js';
import type { Backplane } from '../../../src/cluster/backplanes/backplane.js';
import {
  createDurableRooms,
  type DurableRooms,
  type HistoryStore,
  RedisHistoryStore,
} from '../../../src/features/history/index.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { Machine, machinesOn, startMember, startNode, type TestNode } from '../../io/rooms/support/node.js';
import { nextEvent } from '../../support/clients.js';
import { temporaryFolder } from '../../support/folder.js';
import { RedisProcess } from '../../support/redis.js';
import { Reported } from '../../support/reports.js';
import { until } from '../../support/until.js';
import { Wire } from '../../support/wire.js';
import { joinMesh } from '../recovery/support/recovering.js';

const rooms = 'order:*';
const recovering = { server: { connectionStateRecovery: {} } };
const ends: (() => unknown)[] = [];
let redis: RedisProcess;
/** What the operator is told. */
let reported: Reported;

beforeEach(async () => {
  redis = await RedisProcess.start();
  ends.push(() => redis.remove());
  reported = Reported.here();
});

afterEach(async () => {
  disconnectAll();
  for (const end of ends.splice(0).reverse()) await end();
});

/** A store that does not wait for its Redis, as docs/guide/durable-rooms.md shows. */
function storeAt(port: number): RedisHistoryStore {
  const store = RedisHistoryStore.connect({ redis: `redis://127.0.0.1:${port}`, onError: () => {} });
  ends.push(() => store.close());
  return store;
}

async function durableOn(
  node: TestNode,
  store: HistoryStore,
  onError: (error: unknown) => void = () => {},
): Promise<DurableRooms> {
  const durable = await createDurableRooms(node.io, { rooms, store, mayJoin: () => true, onError });
  ends.push(() => durable.close());
  return durable;
}

async function startAlone(): Promise<TestNode> {
  const node = await startNode(alone);
  ends.push(() => node.close());
  return node;
}

const succeeds = (call: Promise<unknown>) =>
  call.then(
    () => true,
    () => false,
  );

test('a Redis that is down at the start is waited for: until then, requests are answered with HISTORY_UNAVAILABLE', async () => {
  await redis.stop();
  const node = await startAlone();
  const durable = await durableOn(node, storeAt(redis.port));
  const { client, socket, received } = await pairOn(node);
  const unavailable = { code: 'HISTORY_UNAVAILABLE' };
  expect(await client.emitWithAck('durable:join', 'order:1')).toMatchObject({ ok: false, ...unavailable });
  expect(socket.rooms).toEqual(new Set([socket.id]));
  await expect(durable.to('order:1').emit('n', 0)).rejects.toMatchObject(unavailable);
  const down = 'Redis is unreachable: messages of durable rooms cannot be stored or read';
  await until(() => reported.down.includes(down));
  await redis.start();
  await until(async () => (await client.emitWithAck('durable:join', 'order:1')).ok);
  await durable.to('order:1').emit('n', 1);
  await until(() => received.length === 1);
  await until(() => reported.down.length === 0);
  expect(reported.messages).toEqual([down, `over: ${down}`]);
});

test('a member that has joined while its store was unreachable gets what was posted before it is there', async () => {
  const wire = await Wire.to(redis.port);
  ends.push(() => wire.close());
  wire.cut();
  const machine = await Machine.start();
  ends.push(() => machine.remove());
  const [one, two] = [
    await startMember(await machine.openBackplane()),
    await startMember(await machine.openBackplane()),
  ];
  ends.push(() => Promise.all([one.close(), two.close()]));
  const errors: unknown[] = [];
  await durableOn(one, storeAt(wire.port), (error) => errors.push(error));
  const durable = await durableOn(two, storeAt(redis.port));
  const { socket, received } = await pairOn(one);
  await socket.join('order:1');
  await until(() => errors.length > 0);
  expect(errors[0]).toMatchObject({ code: 'HISTORY_UNAVAILABLE' });
  await until(() => succeeds(durable.to('order:1').emit('n', 0)));
  await durable.to('order:1').emit('n', 1);
  // What one worker sends another comes in order: the first announcement is there before this.
  const fence = nextEvent(one.io as never, 'fence');
  two.io.serverSideEmit('fence');
  await fence;
  wire.mend();
  await until(() => received.length === 2);
  expect(received.map(([, value]) => value)).toEqual([0, 1]);
});

test('messages that are kept while only the backplane is down reach all members once it is back', async () => {
  const backplane = await RedisProcess.start();
  ends.push(() => backplane.remove());
  const wire = await Wire.to(backplane.port);
  ends.push(() => wire.close());
  const address = { server: 'redis', url: `redis://127.0.0.1:${wire.port}`, prefix: 'socket.io' } as const;
  const machines = await machinesOn('redis-frames', address);
  ends.push(() => machines.remove());
  const members: (TestNode & { bus: Backplane; durable: DurableRooms })[] = [];
  for (let count = 0; count < 2; count++) {
    const member = await startMember(await machines.openBackplane());
    ends.push(() => member.close());
    members.push({ ...member, durable: await durableOn(member, storeAt(redis.port)) });
  }
  const [one, two] = members as [(typeof members)[0], (typeof members)[0]];
  const { socket, received } = await pairOn(one);
  await socket.join('order:1');
  for (const { io } of members) await until(async () => (await io.of('/').adapter.serverCount()) === 2);
  await until(() => succeeds(two.durable.to('order:1').emit('n', 0)));
  await until(() => received.length === 1);
  wire.cut();
  await until(() => members.every(({ bus }) => bus.health?.isUp === false));
  // The worker reads what it may have missed before the outage. That may still find the first of these.
  let last = 0;
  do {
    await two.durable.to('order:1').emit('n', ++last);
    await one.durable.read('order:1', { limit: 1 });
  } while (received.length > last);
  for (const number of [1, 2]) await two.durable.to('order:1').emit('n', last + number);
  expect(received.length).toBeLessThan(last + 3);
  wire.mend();
  await until(() => received.length === last + 3);
  expect(received.map(([, value]) => value)).toEqual(Array.from({ length: last + 3 }, (_, number) => number));
}, 60_000);

test('a Redis that may remove messages is a problem until its policy is changed', async () => {
  const operator = new Redis(redis.url);
  ends.push(() => operator.disconnect());
  await operator.config('SET', 'maxmemory', '100mb');
  await operator.config('SET', 'maxmemory-policy', 'volatile-lru');
  await durableOn(await startAlone(), storeAt(redis.port));
  const problem = 'Redis removes messages when its memory is full (maxmemory-policy volatile-lru)';
  await until(() => reported.down.includes(problem));
  expect(reported.problems.down).toMatchObject([{ code: 'REDIS_EVICTS' }]);
  await operator.config('SET', 'maxmemory-policy', 'noeviction');
  await operator.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await until(() => reported.down.length === 0);
  expect(reported.messages).toEqual([problem, `over: ${problem}`]);
});

describe('messages that are lost from the store of durable rooms', () => {
  test.each<[string, (operator: Redis) => Promise<unknown>]>([
    ['when Redis is emptied', (operator) => operator.flushall()],
    ['when a conversation is removed', async (operator) => operator.del(...(await operator.keys('*meta:*')))],
    [
      'when Redis returns empty, without another message',
      async () => {
        await redis.stop();
        await redis.start();
      },
    ],
  ])('are told %s, and members get what follows', async (what, lose) => {
    const node = await startAlone();
    const durable = await durableOn(node, storeAt(redis.port));
    const { client, socket, received } = await pairOn(node);
    const heard: DurableMessage[] = [];
    const completes: boolean[] = [];
    await until(() => succeeds(durable.to('order:1').emit('n', 0)));
    const helper = new Helper(client);
    await helper.join('order:1', {
      last: 1,
      onMessage: (message) => heard.push(message),
      onRecovered: ({ complete }) => completes.push(complete),
    });
    expect(socket.rooms.has('order:1')).toBe(true);
    const operator = new Redis(redis.url, { retryStrategy: () => 20 });
    operator.on('error', () => {});
    ends.push(() => operator.disconnect());
    await lose(operator);
    const isQuiet = what.includes('without');
    if (!isQuiet) await durable.to('order:1').emit('n', 1);
    const problem = 'Redis has lost messages that it had confirmed';
    await until(() => reported.down.includes(problem));
    expect(reported.messages.filter((line) => line === problem)).toHaveLength(1);
    // Others that share the store name it, too.
    const other = await startAlone();
    const others = Reported.here();
    const alsoDurable = await durableOn(other, storeAt(redis.port));
    await until(() => others.down.includes(problem));
    await until(() => succeeds(alsoDurable.to('order:2').emit('n', 1)));
    if (isQuiet) await durable.to('order:1').emit('n', 1);
    await until(() => heard.length === 2);
    expect(heard.map(({ values }) => values[0])).toEqual([0, 1]);
    expect(completes.at(-1)).toBe(false);
    expect(received.map(([, value]) => value)).toEqual([1]);
    helper.close();
  });

  test('are not told when a client names a position that there never was', async () => {
    const node = await startAlone();
    const durable = await durableOn(node, storeAt(redis.port));
    const { client, received } = await pairOn(node);
    await until(async () => (await client.emitWithAck('durable:join', 'order:1')).ok);
    const query = { room: 'order:1', tag: 1, after: 7 };
    expect(await client.emitWithAck('durable:read', query)).toMatchObject({ ok: true, complete: false });
    await durable.to('order:1').emit('n', 0);
    await until(() => received.length === 1);
    expect(reported.messages).toEqual([]);
  });
});

describe.each<[what: string, start: () => Promise<TestNode[]>]>([
  ['alone', async () => [await startNode(alone, recovering)]],
  [
    'with others',
    async () => {
      const directory = temporaryFolder();
      const nodes: TestNode[] = [];
      for (const id of [1, 2]) {
        nodes.push(await startMember((await joinMesh(directory, id, id === 1 ? [] : [1])) as Backplane, recovering));
      }
      return nodes;
    },
  ],
])('a client whose connection is recovered by a worker %s', (_what, start) => {
  test('is told the positions of its durable rooms, and reads what it missed', async () => {
    const nodes = await start();
    const durables: DurableRooms[] = [];
    for (const node of nodes) {
      ends.push(() => node.close());
      durables.push(await durableOn(node, storeAt(redis.port)));
      node.io.on('connection', (socket) => {
        if (!socket.recovered) void socket.join(['order:1', 'order:2', 'plain']);
        socket.on('ready', (reply) => reply());
      });
    }
    const [one, last] = [nodes[0]!, nodes.at(-1)!];
    for (const durable of durables) await until(() => succeeds(durable.read('order:1', { limit: 1 })));
    const { client } = await pairOn(one);
    const values: unknown[] = [];
    client.on('n', (value) => values.push(value));
    await client.emitWithAck('ready');
    one.io.to('plain').emit('n', 'plain 1');
    const { tag } = await durables[0]!.to('order:1').emit('n', 'kept 1');
    await until(() => values.length === 2);
    const lost = nextEvent(client, 'disconnect');
    client.io.engine.close();
    await lost;
    last.io.to('plain').emit('n', 'plain 2');
    for (const number of [2, 3]) await durables.at(-1)!.to('order:1').emit('n', `kept ${number}`);
    (client.io as unknown as { uri: string }).uri = last.url;
    const told = nextEvent(client, 'durable:recovered');
    const heard: DurableMessage[] = [];
    const helper = new Helper(client);
    client.connect();
    const [positions] = (await told) as [{ room: string; offset: number; tag: number }[]];
    expect(client.recovered).toBe(true);
    expect(positions).toHaveLength(2);
    expect(positions).toEqual(
      expect.arrayContaining([
        { room: 'order:1', offset: 3, tag: expect.any(Number) },
        { room: 'order:2', offset: 0, tag: expect.any(Number) },
      ]),
    );
    const { messages } = await client.emitWithAck('durable:read', { room: 'order:1', tag, after: 1 });
    expect(messages.map((message: { values: unknown[] }) => message.values[0])).toEqual(['kept 2', 'kept 3']);
    await helper.join('order:1', { onMessage: (message) => heard.push(message) });
    await durables.at(-1)!.to('order:1').emit('n', 'kept 4');
    await until(() => heard.length === 1);
    expect(heard[0]).toMatchObject({ room: 'order:1', offset: 4, values: ['kept 4'] });
    expect(values.filter((value) => String(value).startsWith('plain'))).toEqual(['plain 1', 'plain 2']);
    helper.close();
  });
});
