import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { createStateRoom } from '../../../src/features/state/index.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import type { TestNode } from '../../io/rooms/support/node.js';
import { RedisCluster, type RedisProcess } from '../../support/redis.js';
import { eventually } from '../../support/until.js';
import { onRedis } from './support/on-redis.js';
import { StoredWorkers, stateOf, storedIn } from './support/stored.js';
import { View } from './support/view.js';

afterAll(disconnectAll);

async function member(node: TestNode, join: (view: View, socket: Parameters<typeof pairOn>[0]) => void): Promise<View> {
  const pair = await pairOn(node);
  const view = new View(pair.client, 'quote');
  join(view, pair.socket as never);
  return view;
}

onRedis('the state outlives all servers: values, bytes and deletions', async ({ workers }) => {
  const [one, two] = [await workers.start(), await workers.start()];
  one.room.set('a', { x: [1, 'ä'] });
  two.room.set('b', Buffer.from([0, 255]));
  two.room.set('empty', Buffer.alloc(0));
  one.room.set('gone', 1);
  await eventually(() => expect(two.room.get('gone')).toBe(1));
  two.room.delete('gone');
  one.room.set('a', { x: 2 });
  await Promise.all([one.room.stored(), two.room.stored()]);
  expect(one.room.stats().unstored).toBe(0);
  await workers.stopAll();
  const three = await workers.start();
  const expected = { a: { x: 2 }, b: Buffer.from([0, 255]), empty: Buffer.alloc(0) };
  expect(stateOf(three.room)).toEqual(expected);
  const view = await member(three.node, (_, socket) => three.room.join(socket as never));
  await view.shows(({ a }) => a !== undefined);
  expect(view.messages).toHaveLength(1);
  expect(view.state).toEqual(expected);
  // What is set now is newer, also after one more stop.
  three.room.set('a', 3);
  three.room.delete('b');
  await three.room.stored();
  await workers.stopAll();
  const four = await workers.start();
  expect(stateOf(four.room)).toEqual({ a: 3, empty: Buffer.alloc(0) });
});

onRedis('a member that joins at once gets what Redis has before anything else', async ({ workers }) => {
  const one = await workers.start();
  for (let key = 0; key < 2000; key++) one.room.set(`k${key}`, [key]);
  await one.room.stored();
  await workers.stopAll();
  const two = await workers.open();
  const view = await member(two.node, (_, socket) => two.room.join(socket as never));
  await view.shows(() => true);
  expect(view.messages[0]![1].snapshot).toBe(true);
  expect(view.map.size).toBe(2000);
});

onRedis(
  'an older value never replaces a newer one, and workers at the same time end up alike',
  async ({ redis, workers }) => {
    const all = [await workers.start(), await workers.start(), await workers.start()];
    for (let round = 0; round < 30; round++) {
      for (const [at, { room }] of all.entries()) room.set('a', [round, at]);
      await all[round % 3]!.room.stored();
    }
    await Promise.all(all.map(({ room }) => room.stored()));
    const [first, ...others] = all.map(({ room }) => room);
    await eventually(() => {
      for (const other of others) expect(stateOf(other)).toEqual(stateOf(first!));
    });
    expect(await storedIn(redis.url)).toEqual({ a: JSON.stringify(first!.get('a')) });
  },
);

onRedis(
  'a client that returns gets only what has changed since, and a snapshot once all servers were gone',
  async ({ workers }) => {
    const [one, two] = [await workers.start(), await workers.start()];
    for (let key = 0; key < 100; key++) one.room.set(`k${key}`, 0);
    const first = await member(one.node, (_, socket) => one.room.join(socket as never));
    one.room.set('k0', 1);
    await first.shows(({ k0 }) => k0 === 1);
    const { version } = first;
    first.disconnect();
    one.room.set('k1', 1);
    const second = await member(two.node, (_, socket) => two.room.join(socket as never, { version }));
    await second.shows(({ k1 }) => k1 === 1);
    expect(second.messages[0]![1].snapshot).toBeUndefined();
    await Promise.all([one.room.stored(), two.room.stored()]);
    await workers.stopAll();
    const three = await workers.start();
    const third = await member(three.node, (_, socket) =>
      three.room.join(socket as never, { version: second.version }),
    );
    await third.shows(() => true);
    expect(third.messages[0]![1].snapshot).toBe(true);
    expect(third.map.size).toBe(100);
  },
);

onRedis(
  'Redis remembers as many deletions as the room may have keys, and forgets none too many',
  async ({ redis, workers }) => {
    const { room } = await workers.start({ maxKeys: 10 });
    for (let key = 0; key < 50; key++) {
      room.set(`k${key}`, 1);
      room.delete(`k${key}`);
      if (key % 7 === 0) await room.stored();
    }
    room.set('kept', 1);
    await room.stored();
    const client = new Redis(redis.url);
    const fields = await client.hkeys('gjallar:{state:%2F:quotes}');
    expect(fields.filter((name) => name.startsWith('m')).length).toBe(11);
    client.disconnect();
    expect(await storedIn(redis.url)).toEqual({ kept: '1' });
  },
);

onRedis('what a killed worker has set last is stored', async ({ redis, workers }) => {
  const [one, two] = [await workers.start(), await workers.start()];
  two.room.set('known', 1);
  await two.room.stored();
  two.room.set('late', 'of two');
  await eventually(() => expect(one.room.get('late')).toBe('of two'));
  (two.node as unknown as { bus: { close(): void } }).bus.close();
  await eventually(async () => expect(await storedIn(redis.url)).toEqual({ known: '1', late: '"of two"' }));
});

onRedis(
  'a client of ioredis is used as it is in one process, and by its address with a hub',
  async ({ redis, workers }) => {
    const client = new Redis(redis.url, { enableOfflineQueue: false });
    await eventually(() => expect(client.status).toBe('ready'));
    const one = await workers.start({ redis: client });
    one.room.set('a', 1);
    await one.room.stored();
    const alone = createStateRoom(one.node.io, 'alone', { store: 'redis', redis: client });
    alone.set('b', 2);
    await alone.stored();
    expect(await storedIn(redis.url)).toEqual({ a: '1' });
    expect(await storedIn(redis.url, 'gjallar:{state:%2F:alone}')).toEqual({ b: '2' });
    await alone.close();
    client.disconnect();
  },
);

onRedis('rooms and namespaces have names of their own', async ({ redis, workers }) => {
  const { node } = await workers.start();
  const rooms = [
    createStateRoom(node.io, '}x{', { store: 'redis', redis: redis.url }),
    createStateRoom(node.io.of('/other'), 'quotes', { store: 'redis', redis: redis.url }),
  ];
  for (const [at, room] of rooms.entries()) {
    room.set('key', at);
    await room.stored();
  }
  expect(await storedIn(redis.url, 'gjallar:{state:%2F:%7Dx%7B}')).toEqual({ key: '0' });
  expect(await storedIn(redis.url, 'gjallar:{state:%2Fother:quotes}')).toEqual({ key: '1' });
  for (const room of rooms) room.close();
});

describe('a Redis Cluster', () => {
  let cluster: RedisCluster;
  let workers: StoredWorkers;
  beforeAll(async () => {
    cluster = await RedisCluster.start();
    workers = new StoredWorkers({ redis: cluster.url });
  });
  afterAll(async () => {
    await workers?.stopAll();
    await cluster?.remove();
  });

  const open = async (of: Cluster | string) => (await workers.start({ redis: of })).room;

  test('keeps rooms, by the URL of one node, of several, and by a client', async () => {
    const [{ url }] = cluster.processes as [RedisProcess];
    const first = await open(url);
    const others = ['a', 'b', 'c', 'd'].map((name) =>
      createStateRoom(workers.workers[0]!.node.io, name, { store: 'redis', redis: cluster.url }),
    );
    for (const room of [first, ...others]) {
      room.set('key', room.name);
      room.set('gone', 1);
      room.delete('gone');
      await room.stored();
    }
    for (const room of others) room.close();
    await workers.stopAll();
    const client = new Cluster([url], { enableOfflineQueue: false, redisOptions: { enableReadyCheck: false } });
    await eventually(() => expect(client.status).toBe('ready'));
    const again = await open(client);
    expect(stateOf(again)).toEqual({ key: 'quotes' });
    for (const name of ['a', 'b', 'c', 'd']) {
      const room = createStateRoom(workers.workers[0]!.node.io, name, { store: 'redis', redis: client });
      await room.ready();
      expect(stateOf(room)).toEqual({ key: name });
      room.close();
    }
    await workers.stopAll();
    client.disconnect();
  });
});
