import { describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { MAX_REVOCATIONS, RevokedTokens } from '../../../src/service/accounts/revocations.js';
import { RedisRevocations } from '../../../src/service/chat/revocations.js';
import { RedisProcess } from '../../support/redis.js';
import { until } from '../../support/until.js';

const expires = Date.now() + 3_600_000;

describe('the list in a Redis that loses it', () => {
  const KEY = 'gjallar:revocations';
  const ann = { name: 'ann', issued: 1000 };
  const bob = { name: 'bob', issued: 1000 };
  const ofUser = (user: string, before = 5000) => ({ id: `user:${user}`, before, at: Date.now(), expires });

  interface Store {
    readonly admin: Redis;
    connect(): Redis;
    /** A worker with a list of its own, which has read the store. */
    worker(): Promise<{ tokens: RevokedTokens; told: string[] }>;
  }

  /** A test with a Redis of its own: a worker waits for others before it takes an empty list for the truth. */
  const onRedis = (name: string, run: (store: Store) => Promise<void>) =>
    test.concurrent(name, async () => {
      const server = await RedisProcess.start();
      const clients: Redis[] = [];
      const connect = () => {
        const client = new Redis(server.url);
        clients.push(client);
        return client;
      };
      try {
        await run({ admin: connect(), connect, worker: () => startWorker(connect()) });
      } finally {
        for (const client of clients) client.disconnect();
        await server.remove();
      }
    });

  async function startWorker(redis: Redis) {
    const told: string[] = [];
    const tokens = new RevokedTokens(new RedisRevocations(redis, KEY), {
      onChange: () => {},
      onEmpty: () => told.push('empty'),
      onLoss: (missing) => told.push(`lost ${missing}`),
      onRestored: (byThis) => told.push(byThis ? 'written back' : 'complete'),
    });
    await until(async () => {
      await tokens.read();
      return tokens.isKnown;
    });
    told.length = 0;
    return { tokens, told };
  }

  onRedis('every worker that knew it reports the loss, and one of them writes it back', async ({ admin, worker }) => {
    const [one, two] = [await worker(), await worker()];
    await one.tokens.revoke(ofUser('ann'));
    await two.tokens.read();
    await admin.flushall();
    await Promise.all([one.tokens.read(), two.tokens.read()]);
    await Promise.all([one.tokens.read(), two.tokens.read()]);
    for (const { told } of [one, two]) expect([told[0], told.length]).toEqual(['lost 1', 2]);
    expect(two.tokens.list()).toEqual(one.tokens.list());
  });

  onRedis('a restored older snapshot is completed, even after others have changed it', async ({ admin, worker }) => {
    const [one, two] = [await worker(), await worker()];
    await one.tokens.revoke(ofUser('ann', 3000));
    const snapshot = await admin.hgetall(KEY);
    await one.tokens.revoke(ofUser('ann', 5000));
    await one.tokens.revoke(ofUser('bob'));
    await one.tokens.revoke({ id: 'jti:7', at: Date.now(), expires });
    await one.tokens.lift('jti:7');
    await admin.multi().del(KEY).hset(KEY, snapshot).exec();
    // This one knew less than the snapshot, and takes it for the truth.
    for (const user of ['carl', 'dora', 'emil', 'fay']) await two.tokens.revoke(ofUser(user));
    expect(two.told).toEqual([]);
    await one.tokens.read();
    expect(one.told).toEqual(['lost 3', 'written back']);
    await two.tokens.read();
    expect(two.told).toEqual(['lost 0', 'complete']);
    const ids = ['ann', 'bob', 'carl', 'dora', 'emil', 'fay'].map((user) => `user:${user}`);
    for (const { tokens } of [one, two]) {
      expect(
        tokens
          .list()
          .map(({ id }) => id)
          .sort(),
      ).toEqual(ids);
      expect(tokens.isRevoked({ name: 'ann', issued: 4000 })).toBe(true);
      expect(tokens.isRevoked({ name: 'x', tokenId: '7' })).toBe(false);
    }
  });

  onRedis('what was lifted is not brought back by a worker that did not know', async ({ worker }) => {
    const [one, two] = [await worker(), await worker()];
    await one.tokens.revoke(ofUser('ann'));
    await two.tokens.read();
    await one.tokens.lift('user:ann');
    await two.tokens.read();
    expect([one, two].map(({ tokens, told }) => [tokens.isRevoked(ann), told])).toEqual([
      [false, []],
      [false, []],
    ]);
    await two.tokens.revoke(ofUser('ann', 2000));
    await one.tokens.read();
    expect(one.tokens.list()).toMatchObject([{ id: 'user:ann', before: 2000 }]);
    expect(one.told).toEqual([]);
  });

  onRedis(
    'a worker that starts meanwhile waits for the others, and takes an empty list only if none has one',
    async ({ admin, connect, worker }) => {
      const { tokens } = await worker();
      await tokens.revoke(ofUser('ann'));
      await admin.flushall();
      const redis = connect();
      let asked = 0;
      const started = new RevokedTokens(new RedisRevocations(redis, KEY), {
        onChange: () => {},
        onEmpty: () => asked++,
      });
      await started.read();
      expect([started.isKnown, asked]).toEqual([false, 1]);
      expect(() => started.check({ ...ann, grant: {} })).toThrow(/could not read the list/);
      await tokens.read();
      await started.read();
      expect([started.isKnown, started.isRevoked(ann), started.isRevoked(bob)]).toEqual([true, true, false]);
    },
  );

  onRedis(
    'while it cannot be written back, it still holds, and so it does when Redis can be read only',
    async ({ admin, worker }) => {
      const { tokens, told } = await worker();
      await tokens.revoke(ofUser('ann'));
      await tokens.revoke({ ...ofUser('bob'), expires: Date.now() + 3_600_000 });
      await admin.flushall();
      await admin.config('SET', 'min-replicas-to-write', '1');
      await expect(tokens.read()).rejects.toThrow('NOREPLICAS');
      await expect(tokens.read()).rejects.toThrow('NOREPLICAS');
      expect([told, tokens.isBehind, tokens.isRevoked(ann)]).toEqual([['lost 2'], true, true]);
      await admin.config('SET', 'min-replicas-to-write', '0');
      await tokens.read();
      expect([told, tokens.isBehind]).toEqual([['lost 2', 'written back'], false]);
      // What expired long ago is removed, unless Redis rejects writes.
      await admin.hset(KEY, 'jti:old', JSON.stringify({ id: 'jti:old', at: 1, expires: 2 }));
      await admin.config('SET', 'min-replicas-to-write', '1');
      await tokens.read();
      await admin.config('SET', 'min-replicas-to-write', '0');
      expect(await admin.hexists(KEY, 'jti:old')).toBe(1);
      await tokens.read();
      expect(await admin.hexists(KEY, 'jti:old')).toBe(0);
    },
  );

  onRedis('at its maximum: everything is written back, and the list stays full', async ({ admin, worker }) => {
    const { tokens, told } = await worker();
    const fields = Array.from({ length: MAX_REVOCATIONS }, (_, i) => [
      `jti:${i}`,
      JSON.stringify({ id: `jti:${i}`, at: 1, expires }),
    ]);
    await admin.hset(KEY, ...(fields.flat() as [string, string]));
    await tokens.read();
    await admin.flushall();
    await tokens.read();
    expect(told).toEqual([`lost ${MAX_REVOCATIONS}`, 'written back']);
    expect(await admin.hlen(KEY)).toBe(MAX_REVOCATIONS + 1);
    await expect(tokens.revoke(ofUser('ann'))).rejects.toMatchObject({ code: 'REVOCATIONS_FULL' });
    await tokens.lift('jti:1');
    await tokens.revoke(ofUser('ann'));
    expect(tokens.list()).toHaveLength(MAX_REVOCATIONS);
  });

  onRedis('two callers that revoke at the same moment lose nothing', async ({ worker }) => {
    const [one, two] = [await worker(), await worker()];
    await Promise.all([one.tokens.revoke(ofUser('ann', 3000)), two.tokens.revoke(ofUser('ann', 5000))]);
    for (const { tokens } of [one, two]) await tokens.read();
    for (const { tokens, told } of [one, two]) {
      expect([tokens.list()[0]!.before, told]).toEqual([5000, []]);
    }
  });
});
