import { describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Problems } from '../../../src/base/problems.js';
import { createStateRoom } from '../../../src/features/state/index.js';
import { Server } from '../../../src/index.js';
import { redisRevocations } from '../../../src/service/accounts/revocation-stores.js';
import { MAX_REVOCATIONS, RevokedTokens } from '../../../src/service/accounts/revocations.js';
import { onHubOf } from '../../features/state/support/room-on.js';
import { Machine, startMember } from '../../io/rooms/support/node.js';
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
    /** A worker that has not read the store yet. */
    start(): Promise<Worker>;
    /** A worker that has read the store, and reaches no other one. */
    worker(): Promise<Worker>;
    /** The same, as one of the workers of a machine, which share the list. */
    linked(): Promise<Worker>;
  }

  interface Worker {
    tokens: RevokedTokens;
    problems: Problems;
    told: string[];
  }

  /** A test with a Redis of its own: a worker waits for others before it takes an empty list for the truth. */
  const onRedis = (name: string, run: (store: Store) => Promise<void>) =>
    test.concurrent(name, async () => {
      const server = await RedisProcess.start();
      const ends: (() => unknown)[] = [() => server.remove()];
      const connect = () => {
        const client = new Redis(server.url);
        ends.push(() => client.disconnect());
        return client;
      };
      let machine: Machine | undefined;
      const start = async (
        of: Parameters<typeof createStateRoom>[0],
        open: <T>(act: () => T) => T = (act) => act(),
      ) => {
        const told: string[] = [];
        const log = {
          error: ({ missing }: { missing?: number }) => missing !== undefined && told.push(`lost ${missing}`),
          info: (_: object, text: string) => /written back/.test(text) && told.push('complete'),
        };
        const room = open(() => createStateRoom(of, 'revoked', { maxKeys: 4 * MAX_REVOCATIONS }));
        const problems = new Problems();
        const reports = { log, problems } as never;
        const tokens = new RevokedTokens(redisRevocations(connect(), KEY), room as never, reports, () => {});
        ends.push(
          () => room.close(),
          () => tokens.close(),
        );
        return { tokens, problems, told };
      };
      const ready = async (worker: Worker) => {
        await until(() => worker.tokens.isKnown);
        worker.told.length = 0;
        return worker;
      };
      const alone = () => start(new Server());
      const linked = async () => {
        if (!machine) {
          const made = await Machine.start();
          machine = made;
          ends.push(() => made.remove());
          await made.startHub('machine0');
        }
        const node = await startMember(await machine.openBackplane());
        ends.push(() => node.close());
        return ready(await start(node.io, (act) => onHubOf(node, act)));
      };
      try {
        await run({ admin: connect(), start: alone, worker: async () => ready(await alone()), linked });
      } finally {
        for (const end of ends.reverse()) await end();
      }
    });

  onRedis('every worker that knew it reports the loss, and one of them writes it back', async ({ admin, worker }) => {
    const [one, two] = [await worker(), await worker()];
    await one.tokens.revoke(ofUser('ann'));
    await two.tokens.read();
    await admin.flushall();
    await Promise.all([one.tokens.read(), two.tokens.read()]);
    await Promise.all([one.tokens.read(), two.tokens.read()]);
    for (const { told } of [one, two]) expect(told).toEqual(['lost 1', 'complete']);
    expect(two.tokens.list()).toEqual(one.tokens.list());
  });

  onRedis(
    'workers that reach each other share it without reading the store, and all report a loss',
    async ({ admin, linked }) => {
      const [one, two] = [await linked(), await linked()];
      await one.tokens.revoke(ofUser('ann'));
      await until(() => two.tokens.isRevoked(ann));
      await admin.flushall();
      await one.tokens.read();
      expect(one.told).toEqual(['lost 1', 'complete']);
      await until(() => two.told.length === 2);
      expect(two.told).toEqual(['lost 0', 'complete']);
      await admin.flushall();
      // This one has the list of the others when it finds the store empty.
      const three = await linked();
      expect([three.tokens.isRevoked(ann), three.tokens.list()]).toEqual([true, one.tokens.list()]);
      await until(() => one.told.length === 4);
    },
  );

  onRedis(
    'a worker that starts later shows the loss since its time, whether it knows it from others or from Redis',
    async ({ admin, worker, linked }) => {
      const one = await linked();
      await one.tokens.revoke(ofUser('ann'));
      await admin.flushall();
      await one.tokens.read();
      const [loss] = one.problems.down;
      expect(loss).toMatchObject({ code: 'REVOCATIONS_LOST' });
      for (const late of [await linked(), await worker()])
        expect([late.problems.down, late.told]).toEqual([[loss], []]);
    },
  );

  onRedis(
    'of two revocations at the same moment on machines that meet later, the wider one stays',
    async ({ worker, linked }) => {
      const [one, two, far] = [await linked(), await linked(), await worker()];
      await Promise.all([
        one.tokens.revoke(ofUser('ann', 3000)),
        two.tokens.revoke(ofUser('ann', 5000)),
        far.tokens.revoke(ofUser('ann', 4000)),
      ]);
      for (const { tokens } of [one, two]) await until(() => tokens.list()[0]?.before === 5000);
      await far.tokens.read();
      expect(far.tokens.list()).toMatchObject([{ before: 5000 }]);
    },
  );

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
    expect(one.told).toEqual(['lost 3', 'complete']);
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
    async ({ admin, start, worker }) => {
      const { tokens } = await worker();
      await tokens.revoke(ofUser('ann'));
      await admin.flushall();
      const { tokens: started } = await start();
      await started.read();
      expect(started.isKnown).toBe(false);
      const accepted = started.accept({ ...ann, grant: {} });
      await tokens.read();
      await expect(accepted).rejects.toMatchObject({ code: 'TOKEN_REVOKED' });
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
      expect([told, tokens.isBehind]).toEqual([['lost 2', 'complete'], false]);
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
    expect(told).toEqual([`lost ${MAX_REVOCATIONS}`, 'complete']);
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
