import { expect } from '@jest/globals';
import { Redis } from 'ioredis';
import { DURABLE } from '../../../support/redis.js';
import { eventually } from '../../../support/until.js';
import { onRedis, type Store } from '../support/on-redis.js';
import { stateOf, storedIn } from '../support/stored.js';

/** What a server has not read in Redis, it does not delete there. */

/** Stores three keys, then stops the server and Redis. */
async function storeThree({ redis, workers }: Store): Promise<void> {
  const one = await workers.start();
  for (const key of ['a', 'b', 'c']) one.room.set(key, key);
  await one.room.stored();
  await workers.stopAll();
  await redis.stop();
}

onRedis(
  'a server that starts without Redis and forgets deletions takes what Redis has, and deletes none of it',
  async ({ redis, workers }) => {
    await storeThree({ redis, workers });
    const two = await workers.start({ maxKeys: 5 });
    for (let key = 0; key < 10; key++) {
      two.room.set(`k${key}`, 1);
      two.room.delete(`k${key}`);
    }
    await redis.start();
    await eventually(() => expect(stateOf(two.room)).toEqual({ a: 'a', b: 'b', c: 'c' }));
    await two.room.stored();
    // Comparing again deletes nothing either.
    const client = new Redis(redis.url);
    const key = 'gjallar:{state:%2F:quotes}';
    const marks = (await client.hkeys(key)).filter((field) => field.startsWith('w'));
    await client.hdel(key, ...marks);
    client.disconnect();
    two.room.set('d', 'd');
    await two.room.stored();
    await redis.stop();
    two.room.set('e', 'e');
    await redis.start();
    await two.room.stored();
    const expected = { a: '"a"', b: '"b"', c: '"c"', d: '"d"', e: '"e"' };
    expect(await storedIn(redis.url)).toEqual(expected);
    expect(stateOf(two.room)).toEqual({ a: 'a', b: 'b', c: 'c', d: 'd', e: 'e' });
    // Another worker has them too, though it may have forgotten the same deletions.
    const three = await workers.start({ maxKeys: 5 });
    expect(stateOf(three.room)).toEqual(stateOf(two.room));
  },
  DURABLE,
);

onRedis(
  'of several servers that start without Redis, all have in the end what Redis has',
  async ({ redis, workers }) => {
    await storeThree({ redis, workers });
    const both = [await workers.start({ maxKeys: 5 }), await workers.start({ maxKeys: 5 })];
    for (const { room } of both) {
      for (let key = 0; key < 30; key++) {
        room.set(`k${key}`, 1);
        room.delete(`k${key}`);
      }
    }
    both[1]!.room.set('last', 1);
    await eventually(() => expect(both[0]!.room.get('last')).toBe(1));
    await redis.start();
    const expected = { a: 'a', b: 'b', c: 'c', last: 1 };
    for (const { room } of both) await eventually(() => expect(stateOf(room)).toEqual(expected));
    for (const { room } of both) await room.stored();
    await redis.stop();
    for (const [at, { room }] of both.entries()) room.set('last', at);
    await redis.start();
    for (const { room } of both) await room.stored();
    await eventually(async () => expect(Object.keys(await storedIn(redis.url))).toEqual(Object.keys(expected)));
  },
  DURABLE,
);

onRedis(
  'keys that a server has not taken because of its bounds stay in Redis',
  async ({ redis, workers }) => {
    const one = await workers.start();
    for (let key = 0; key < 10; key++) one.room.set(`k${key}`, key);
    await one.room.stored();
    await workers.stopAll();
    const two = await workers.start({ maxKeys: 5 });
    const taken = [...two.room.keys()];
    expect(taken).toHaveLength(5);
    // More deletions than the room remembers.
    for (const key of taken) two.room.delete(key);
    for (let key = 0; key < 6; key++) {
      two.room.set(`new${key}`, 1);
      two.room.delete(`new${key}`);
    }
    await two.room.stored();
    await redis.stop();
    two.room.set('after', 1);
    await redis.start();
    await two.room.stored();
    const left = Array.from({ length: 10 }, (_, key) => `k${key}`).filter((key) => !taken.includes(key));
    expect(Object.keys(await storedIn(redis.url))).toEqual(['after', ...left]);
  },
  DURABLE,
);
