import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { stateRooms } from '../../../src/rooms/state-figures.js';
import type { Hub } from '../../../src/state/replication/hub.js';
import type { Message } from '../../../src/state/replication/messages.js';
import { RedisProcess } from '../../support/redis.js';
import { Reported } from '../../support/reports.js';
import { until } from '../../support/until.js';
import { forgeFor, HubWorkers, memberOf } from '../support/hub-workers.js';
import { stateOf, storedIn } from '../support/stored.js';

/** Another program on the backplane, which says what no worker says. */

const workers = new HubWorkers();
let redis: RedisProcess | undefined;
let reasons: string[];
const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);

beforeEach(() => {
  reasons = Reported.here().reasons;
  process.on('unhandledRejection', note);
});
afterEach(async () => {
  process.off('unhandledRejection', note);
  await workers.remove();
  await redis?.remove();
  redis = undefined;
  expect(unhandled.splice(0)).toEqual([]);
});

/** Has all workers receive a message. */
const forge = (message: unknown) => {
  for (const worker of workers.all) forgeFor(worker, message);
};

const progress = (hub: Hub) => ({ node: 'forged', sequence: 1, clock: hub.clock.tick() });

test('times, names and epochs that no worker has are dropped, and the newest set still wins', async () => {
  const [one, two] = [await workers.start(), await workers.start()];
  const fine = { type: 'changes', ...progress(one.hub), room: 'quotes', epoch: 'zzz' };
  const far = Number.MAX_SAFE_INTEGER;
  const forged = [
    { ...fine, clock: far, changes: [] },
    { ...fine, changes: [['a', far, 1, '"forged"']] },
    { ...fine, changes: [['a', far - 2 ** 44, 1, '"forged"']] },
    { ...fine, epoch: '', changes: [] },
    { ...fine, epoch: ' !', changes: [] },
    { ...fine, node: 'a b', changes: [] },
    { ...fine, node: 'x'.repeat(1000), changes: [] },
    { ...fine, changes: [['a', 1, 1, '1', 'of nobody']] },
    { type: 'beat', node: 'forged', sequence: -1, clock: 1 },
    { type: 'pull', node: 'forged', id: 1, of: {}, room: 'quotes', since: 0, after: 0 },
    null,
    'changes',
    { type: '__proto__' },
  ];
  for (const message of forged) forge(message);
  expect(reasons.length).toBe(2 * forged.length);
  expect(one.hub.peers.size).toBe(1);
  one.room.set('a', 'one');
  await until(() => two.room.get('a') === 'one');
  two.room.set('a', 'two');
  await until(() => one.room.get('a') === 'two');
  const view = await memberOf(one);
  const again = await memberOf(two, view.version);
  await again.shows(({ a }) => a === 'two');
});

test('a forged number of messages of a worker does not have it asked for ever', async () => {
  const [one, two] = [await workers.start(), await workers.start()];
  one.room.set('a', 1);
  await until(() => two.room.get('a') === 1);
  const { node } = one.hub;
  const peer = () => two.hub.peers.get(node)!;
  const message = { type: 'beat', node, sequence: 1_000_000, clock: peer().clock };
  forgeFor(two, message);
  expect(peer().hasGap).toBe(true);
  await until(() => !peer().hasGap);
  one.room.set('a', 2);
  await until(() => two.room.get('a') === 2);
  expect(peer().hasGap).toBe(false);
});

test('workers that are made up are bounded, and so is what is kept of rooms that nobody has', async () => {
  const [one, two] = [await workers.start(), await workers.start()];
  for (let at = 0; at < 5000; at++) forge({ type: 'beat', node: `forged${at}`, sequence: 0, clock: 1 });
  for (const { hub } of workers.all) expect(hub.peers.size).toBe(4096);
  expect(reasons.length).toBeGreaterThan(1000);
  for (let at = 0; at < 100; at++) {
    forge({
      type: 'changes',
      ...progress(one.hub),
      sequence: at,
      node: 'forged0',
      room: `r${at}`,
      epoch: 'z',
      changes: [],
    });
  }
  const { heads } = one.hub.peers.get('forged0') as unknown as { heads: Map<string, number> };
  expect(heads.size).toBe(0);
  one.room.set('a', 1);
  await until(() => two.room.get('a') === 1);
});

test('changes far beyond the bounds have no place, and nothing is deleted for it', async () => {
  redis = await RedisProcess.start();
  const bounds = { maxKeys: 5, maxBytes: 1_000_000 };
  const [one, two] = [
    await workers.start({ ...bounds, store: 'redis', redis: redis.url }),
    await workers.start(bounds),
  ];
  one.room.set('own', 1);
  await one.room.stored();
  await until(() => two.room.get('own') === 1);
  const changes = Array.from({ length: 100 }, (_, at) => [`k${at}`, one.hub.clock.tick(), 1, `${at}`]);
  forge({ type: 'changes', ...progress(one.hub), room: 'quotes', epoch: 'zzz', changes });
  for (const { room } of workers.all) expect(room.size).toBe(20);
  expect(stateRooms.warning).toMatch(/"quotes" is nearly full/);
  expect(reasons.length).toBe(2 * 81);
  const big = { type: 'changes', ...progress(one.hub), sequence: 2, room: 'quotes', epoch: 'zzz' };
  const clock = one.hub.clock.tick();
  forge({ ...big, changes: [['own', clock, 1, JSON.stringify('x'.repeat(5_000_000))]] });
  expect(one.room.get('own')).toBe(1);
  // What others have stored meanwhile, and this worker had no place for, stays where it is, however much it has forgotten.
  const client = new Redis(redis.url);
  const key = 'gjallar:{state:%2F:quotes}';
  await client.hset(key, 'mk99', `${changes[99]![1]} forged 1 2`, 'vk99', '99');
  for (let at = 0; at < 18; at++) one.room.delete(`k${at}`);
  for (let at = 0; at < 50; at++) {
    one.room.set(`d${at}`, at);
    one.room.delete(`d${at}`);
  }
  await one.room.stored();
  await client.hincrby(key, 'ageneration', 1);
  client.disconnect();
  one.room.set('k19', 'last');
  await one.room.stored();
  expect((await storedIn(redis.url)).k99).toBe('99');
  expect(stateOf(one.room).k19).toBe('last');
});

const lost = (of: string): Message => ({ type: 'lost', node: 'forged', id: 1, of, heard: 7, since: 0 });

test('workers that are said to be lost are asked for within bounds', async () => {
  const [one] = [await workers.start(), await workers.start()];
  for (let at = 0; at < 2000; at++) forge(lost(`lost${at}`));
  const { asking } = one.hub.departures as unknown as { asking: Set<string> };
  expect(asking.size).toBe(256);
  await until(() => asking.size === 0);
});
