import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { errorCodes } from '../../../src/base/errors.js';
import { BUCKETS, Keys } from '../../../src/features/history/redis/keys.js';
import { RedisHistoryStore, redisClientOptions } from '../../../src/features/history/redis/store.js';
import type { HistoryError } from '../../../src/features/history/store.js';
import { atEnd } from '../../support/ends.js';
import { DURABLE, RedisProcess, until } from '../../support/redis.js';
import { Wire } from '../../support/wire.js';
import { changesFrom, type Harness, HOUR, say, texts } from './contract/subject.js';
import { storeContract } from './store.contract.js';
import { modelContract } from './store.model.js';

async function start(): Promise<Harness> {
  const server = await RedisProcess.start();
  const admin = new Redis(server.url);
  return {
    options: { redis: server.url },
    open: (limits) => RedisHistoryStore.open({ redis: server.url, ...limits }),
    refuse: async () => void (await admin.config('SET', 'maxmemory', '1')),
    accept: async () => void (await admin.config('SET', 'maxmemory', '0')),
    lose: async () => void (await admin.flushall()),
    async remove() {
      admin.disconnect();
      await server.remove();
    },
  };
}

storeContract(start);
modelContract(start);

describe('Redis', () => {
  let server: RedisProcess;
  let store: RedisHistoryStore;
  let client: Redis;

  async function use(...settings: string[]): Promise<void> {
    server = await RedisProcess.start(...settings);
    // As in production: a busy machine may take longer for an answer than a shorter time.
    client = new Redis(server.url, redisClientOptions());
    client.on('error', () => {});
    store = await RedisHistoryStore.open({ redis: client });
  }
  async function restart(): Promise<void> {
    // Not once() of node:events: an attempt that fails in between is no failure of the test.
    const ready = new Promise<void>((resolve) => client.once('ready', () => resolve()));
    await server.stop('SIGKILL');
    await server.start();
    await ready;
  }
  async function done(): Promise<void> {
    await store.close();
    client.disconnect();
    await server.remove();
  }

  describe('while it runs', () => {
    beforeAll(() => use());
    afterAll(done);

    test('keeps no client waiting until all messages of another one to many new conversations are stored', async () => {
      const [many, one] = [{}, {}];
      let stored = 0;
      const appends = Array.from({ length: 3000 }, async (_, at) => {
        await store.append(`new ${at}`, [say('x')], { client: many });
        stored++;
      });
      await appends[0];
      await store.append('other', [say('x')], { client: one });
      const before = stored;
      await Promise.all(appends);
      expect(before).toBeLessThan(1000);
    });

    test('reads a page of 20,000 messages with as many commands and bytes, wherever it lies', async () => {
      for (let i = 0; i < 20; i++) await store.append('big', Array(1000).fill(say('some text')));
      const work: { commands: number; bytes: number }[] = [];
      for (const after of [0, 9_975, 19_950]) {
        const before = await counters(client);
        const page = await store.read('big', { after, limit: 50 });
        const now = await counters(client);
        expect(page.messages.map(({ offset }) => offset)).toEqual(Array.from({ length: 50 }, (_, n) => after + 1 + n));
        expect(page).toMatchObject({ complete: true, offset: 20_000 });
        work.push({ commands: now.commands - before.commands, bytes: now.bytes - before.bytes });
      }
      // The head script with its four, the range, and the asking itself.
      for (const { commands } of work) expect(commands).toBeLessThanOrEqual(7);
      for (const { bytes } of work) expect(bytes).toBeLessThan(20_000);
    });

    test('sends what is appended in one turn in one pipeline, a script a conversation', async () => {
      const scripts = async () =>
        // A script is sent as a whole the first time.
        Number(/evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
      await store.append('warm', [say('x')]);
      const before = await scripts();
      await Promise.all(Array.from({ length: 90 }, (_, n) => store.append(`turn ${n % 3}`, [say(`${n}`)])));
      expect((await scripts()) - before).toBe(3);
    });

    test('gives each key a time to live, and keeps a bucket’s keys on one node of a cluster', async () => {
      await store.append('ttl', [say('x')], { key: 'key' });
      const keys = new Keys('gjallar:');
      const { meta, stream, log, due } = keys.of('ttl');
      const day = 24 * HOUR;
      for (const key of [log, keys.key('ttl', 'key')]) expectBetween(await client.pttl(key), day - 60_000, day);
      for (const key of [meta, stream, due]) expectBetween(await client.pttl(key), 7 * day - 60_000, 7 * day);
      const tags = [meta, stream, log, due, keys.key('ttl', 'key')].map((key) => /\{(.*?)\}/.exec(key)![1]);
      expect(new Set(tags).size).toBe(1);
      const buckets = Array.from({ length: 1000 }, (_, n) => keys.of(`room ${n}`).log);
      expect(new Set(buckets).size).toBe(BUCKETS);
    });

    test('keeps a conversation that is never empty due, also where only the index is gone', async () => {
      const { due } = new Keys('gjallar:').of('busy');
      const now = Date.now();
      const day = 24 * HOUR;
      await store.append('busy', [say('old', now - 2 * day), say('new')]);
      // Most of a week has passed.
      await client.pexpire(due, 60_000);
      await store.append('busy', [say('newer')]);
      expectBetween(await client.pttl(due), 7 * day - 60_000, 7 * day);
      await client.del(due);
      await store.append('busy', [say('newest')]);
      expectBetween(await client.pttl(due), 7 * day - 60_000, 7 * day);
      await store.trim(now);
      const page = await store.read('busy', { after: 0, limit: 10 });
      expect(texts(page.messages)).toEqual(['new', 'newer', 'newest']);
      expect(page).toMatchObject({ complete: false, offset: 4 });
    });

    test('bounds its log of changes by the TTL', async () => {
      const { log } = new Keys('gjallar:').of('bounded');
      await client.del(log);
      for (let i = 1; i <= 300; i++)
        await client.xadd(log, `${i}-0`, 'c', 'gone', 'o', `${i}`, 'n', '1', 't', '1', 'b', '0');
      await store.append('bounded', [say('x')]);
      expect(await client.xlen(log)).toBeLessThanOrEqual(101);
    });

    test('tells the changes behind those that were trimmed, in whatever bucket', async () => {
      const own = await RedisHistoryStore.open({ redis: client, keyPrefix: 'trimmed:' });
      atEnd(() => own.close());
      const keys = new Keys('trimmed:');
      const roomIn = (bucket: number) => {
        for (let n = 0; ; n++) if (keys.of(`room ${n}`).log === keys.log(bucket)) return `room ${n}`;
      };
      const now = Date.now();
      await own.append(roomIn(0), Array(1000).fill(say('old', now - 48 * HOUR)));
      await own.append(roomIn(BUCKETS - 1), [say('new')]);
      expect(await own.trim(now)).toBe(1000);
      expect(texts((await own.changes(undefined, 1000)).changes)).toEqual(['new']);
    });

    test('creates nothing for readers', async () => {
      for (let n = 0; n < 300; n++) {
        await store.head(`unknown ${n}`);
        await store.read(`unknown ${n}`, { after: 0, limit: 10 });
      }
      expect(await client.keys('*unknown*')).toEqual([]);
    });

    test.each([
      ['HSET', ['one', 'three']],
      ['XADD', ['one', 'three']],
      // It comes after the message was added.
      ['PEXPIRE', ['one', 'two', 'three']],
    ])('refuses without the right to %s, and goes on once it is given', async (command, kept) => {
      const { hostname, port } = new URL(server.url);
      const grant = (...rights: string[]) => client.call('ACL', 'SETUSER', 'app', ...rights);
      await grant('reset', 'on', '>secret', '~*', '&*', '+@all');
      const own = await RedisHistoryStore.open({ redis: `redis://app:secret@${hostname}:${port}` });
      atEnd(() => own.close());
      const conversation = `without ${command}`;
      await own.append(conversation, [say('one')]);
      await grant(`-${command}`);
      await expect(own.append(conversation, [say('two')])).rejects.toMatchObject({ code: 'HISTORY_REFUSED' });
      await grant(`+${command}`);
      expect(await own.append(conversation, [say('three')])).toMatchObject([{ offset: kept.length }]);
      const page = await own.read(conversation, { after: 0, limit: 10 });
      expect(texts(page.messages)).toEqual(kept);
      expect(page).toMatchObject({ complete: true, offset: kept.length });
    });

    test('refuses where something else is in its place', async () => {
      await store.append('taken', [say('x')]);
      await client.set(new Keys('gjallar:').of('taken').stream, 'not a stream');
      await expect(store.append('taken', [say('x')])).rejects.toMatchObject({
        code: 'HISTORY_REFUSED',
        message: errorCodes.HISTORY_REFUSED.message,
        cause: { message: expect.stringContaining('WRONGTYPE') },
      });
    });
  });

  describe('when it goes away', () => {
    // A slow disk can delay what is written `everysec`, and a kill then loses it.
    beforeEach(() => use(...DURABLE));

    test('an append is rejected, and Redis is found again when it is back', async () => {
      await store.append('room', [say('1')]);
      const closed = once(client, 'close');
      await server.stop('SIGKILL');
      await closed;
      const unavailable = { name: 'HistoryError', code: 'HISTORY_UNAVAILABLE' };
      await expect(store.append('room', [say('2')])).rejects.toMatchObject(unavailable);
      await expect(store.read('room', { limit: 1 })).rejects.toMatchObject(unavailable);
      await expect(RedisHistoryStore.open({ redis: server.url, timeoutMs: 50 })).rejects.toMatchObject(unavailable);
      const ready = new Promise<void>((resolve) => client.once('ready', () => resolve()));
      await server.start();
      await ready;
      expect(await store.append('room', [say('3')])).toMatchObject([{ offset: 2 }]);
      expect(texts((await store.read('room', { limit: 9 })).messages)).toEqual(['1', '3']);
      await done();
    });

    test('an append that gets no answer is uncertain, and its key tells', async () => {
      await store.append('room', [say('1')]);
      server.signal('SIGSTOP');
      const append = store.append('room', [say('2')], { key: 'key' });
      await expect(append).rejects.toMatchObject({ code: 'HISTORY_UNCERTAIN' });
      await expect(store.read('room', { limit: 1 })).rejects.toMatchObject({ code: 'HISTORY_UNAVAILABLE' });
      server.signal('SIGCONT');
      await store.ready();
      expect(await store.append('room', [say('2')], { key: 'key' })).toMatchObject([{ offset: 2, duplicate: true }]);
      await done();
    });

    test('once an append got no answer, the next ones are rejected at once, until Redis answers', async () => {
      // Nothing is killed here, and a slow disk would make Redis look silent again.
      await done();
      await use();
      await store.append('room', [say('1')]);
      server.signal('SIGSTOP');
      await expect(store.append('room', [say('2')])).rejects.toMatchObject({ code: 'HISTORY_UNCERTAIN' });
      // The connection ends after the same time, perhaps in the next turn.
      await until(() => !store.isReady);
      const codes: string[] = [];
      const failed = ({ code }: HistoryError) => codes.push(code);
      const calls = [...'abcdef'].flatMap((room) => [
        store.append(room, [say('x')]).catch(failed),
        store.read(room, { limit: 1 }).catch(failed),
      ]);
      await Promise.all(calls);
      expect(new Set(codes)).toEqual(new Set(['HISTORY_UNAVAILABLE']));
      expect(codes).toHaveLength(calls.length);
      // Only the first one was sent.
      server.signal('SIGCONT');
      await store.ready();
      expect(await store.append('room', [say('3')])).toMatchObject([{ offset: 3 }]);
      for (const room of 'abcdef') expect(await store.head(room)).toMatchObject({ offset: 0 });
      await done();
    });

    test.each([
      ['a URL', (url: string): { redis: string | Redis } => ({ redis: url })],
      ['a client', (url: string): { redis: string | Redis } => ({ redis: new Redis(url, redisClientOptions()) })],
    ])('connections of %s that fall silent are made again within seconds', async (_name, optionsFor) => {
      const wire = await Wire.to(server.port);
      const { redis } = optionsFor(`redis://127.0.0.1:${wire.port}`);
      const own = await RedisHistoryStore.open({ redis });
      atEnd(async () => {
        await own.close();
        if (typeof redis !== 'string') redis.disconnect();
        wire.close();
        await done();
      });
      await own.append('room', [say('1')]);
      // What there is hangs for ever, as behind a frozen master. New connections reach the one that took its place.
      wire.hold();
      wire.holdAnswers();
      await until(() =>
        own.append('room', [say('2')], { key: 'key' }).then(
          () => true,
          () => false,
        ),
      );
      // An idle connection, too.
      wire.hold();
      wire.holdAnswers();
      const { connections } = wire;
      await until(() => wire.connections > connections);
      await own.ready();
      expect(await own.append('room', [say('3')])).toMatchObject([{ offset: 3 }]);
    });

    test('a restart with an append-only file loses nothing, and positions stay good', async () => {
      const kept = await store.append('room', [say('1'), say('2'), say('3')]);
      const [first, , last] = kept.map(({ tag }) => tag);
      const { cursor } = await store.changes(undefined, 10);
      await restart();
      const page = await store.read('room', { tag: first!, after: 1, limit: 5 });
      expect(page).toMatchObject({ offset: 3, tag: last, complete: true });
      expect(texts(page.messages)).toEqual(['2', '3']);
      expect(await store.append('room', [say('4')])).toMatchObject([{ offset: 4, before: last }]);
      expect(texts((await store.read('room', { tag: last!, after: 3, limit: 5 })).messages)).toEqual(['4']);
      const { changes } = await store.changes(cursor, 10);
      expect(changes).toMatchObject([{ text: '4', before: last }]);
      await done();
    });
  });

  test('works on a cluster, which refuses what reaches over slots', async () => {
    const server = await RedisProcess.start('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1');
    const admin = new Redis(server.url);
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    const cluster = new Cluster([{ host: '127.0.0.1', port: server.port }], {
      redisOptions: redisClientOptions(),
      enableOfflineQueue: false,
      clusterRetryStrategy: () => 20,
    });
    const store = await RedisHistoryStore.open({ redis: cluster, ttlMs: HOUR, timeoutMs: 20_000 });
    const now = Date.now();
    const rooms = Array.from({ length: 100 }, (_, n) => `room ${n}`);
    await Promise.all(
      rooms.map((room) => store.append(room, [say('old', now - 2 * HOUR), say('new', now)], { key: 'key' })),
    );
    expect(await store.trim(now)).toBe(100);
    expect(await store.append('room 7', [say('new', now)], { key: 'key' })).toMatchObject([
      { offset: 2, duplicate: true },
    ]);
    expect(texts((await store.read('room 7', { after: 0, limit: 5 })).messages)).toEqual(['new']);
    const { changes } = await changesFrom(store, undefined, 30);
    expect(new Set(changes.map(({ conversation }) => conversation))).toEqual(new Set(rooms));
    await store.close();
    cluster.disconnect();
    admin.disconnect();
    await server.remove();
  });

  describe('when it comes back with less', () => {
    beforeEach(() => use());

    test('readers of what is lost are told, and go on behind what is not', async () => {
      const kept = await store.append('room', [say('1'), say('2')]);
      const operator = new Redis(server.url);
      // A slow disk may take longer than the client waits.
      await operator.save();
      operator.disconnect();
      const [lost] = (await store.append('room', [say('lost'), say('lost too')])).slice(1);
      await restart();
      const gone = { after: 2, complete: false, lost: true };
      const { tag } = lost!;
      expect(await store.read('room', { tag, after: 4, limit: 5 })).toMatchObject({ ...gone, messages: [] });
      const [next] = await store.append('room', [say('3')]);
      expect(next).toMatchObject({ offset: 3, before: kept[1]!.tag });
      for (const texts of [['3'], ['3', '4', '5']]) {
        const page = await store.read('room', { tag, after: 4, limit: 5 });
        expect(page).toMatchObject({ ...gone, messages: texts.map((text) => ({ text })) });
        if (texts.length === 1) await store.append('room', [say('4'), say('5')]);
      }
      expect(await store.read('room', { tag: kept[0]!.tag, after: 1, limit: 5 })).toMatchObject({ complete: true });
      await done();
    });
  });
});

async function counters(client: Redis): Promise<{ commands: number; bytes: number }> {
  const info = await client.info('stats');
  return {
    commands: Number(/total_commands_processed:(\d+)/.exec(info)![1]),
    bytes: Number(/total_net_output_bytes:(\d+)/.exec(info)![1]),
  };
}

function expectBetween(value: number, least: number, most: number): void {
  expect(value).toBeGreaterThan(least);
  expect(value).toBeLessThanOrEqual(most);
}
