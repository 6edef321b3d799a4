import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Resequencer } from '../../../src/features/history/conversations/resequencer.js';
import type { Finding } from '../../../src/features/history/loss/continuation.js';
import { Keys } from '../../../src/features/history/redis/keys.js';
import { RedisHistoryStore } from '../../../src/features/history/redis/store.js';
import { RedisProcess, until } from '../../support/redis.js';
import { say } from './contract/subject.js';

const keys = new Keys('gjallar:');
const { meta, stream, due } = keys.of('room');
const ends: (() => unknown)[] = [];
let server: RedisProcess;
let redis: Redis;
let store: RedisHistoryStore;

beforeEach(async () => {
  server = await startRedis();
  redis = clientOf(server);
  store = await openStore();
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function startRedis(...settings: string[]): Promise<RedisProcess> {
  const started = await RedisProcess.start(...settings);
  ends.push(() => started.remove());
  return started;
}

function clientOf({ url }: RedisProcess): Redis {
  const client = new Redis(url);
  ends.push(() => client.disconnect());
  return client;
}

async function openStore(): Promise<RedisHistoryStore> {
  const opened = await RedisHistoryStore.open({ redis: server.url });
  ends.push(() => opened.close());
  return opened;
}

async function info(client: Redis, name: string): Promise<string> {
  return new RegExp(`${name}:(.*?)\r`).exec(await client.info())![1]!;
}

describe('the epoch of a conversation', () => {
  // An earlier version has written no line, or more than the replication id.
  test.each<
    [run: 'same' | 'other', line: 'same' | 'none' | 'more' | 'other', boolean, boolean, 'same' | 'kept' | 'not kept']
  >([
    ['same', 'same', false, false, 'same'],
    ['same', 'none', false, false, 'same'],
    ['same', 'more', false, false, 'same'],
    ['same', 'other', false, false, 'kept'],
    ['same', 'other', true, true, 'not kept'],
    ['other', 'other', false, true, 'kept'],
    ['other', 'other', false, false, 'not kept'],
    ['other', 'other', true, true, 'not kept'],
    ['other', 'none', false, true, 'kept'],
    ['other', 'none', false, false, 'not kept'],
  ])('process %s, line %s, promoted %j, append-only %j: %s', async (run, line, promoted, aof, result) => {
    if (aof) await redis.config('SET', 'appendonly', 'yes');
    if (promoted) {
      await redis.replicaof('127.0.0.1', 1);
      await redis.replicaof('NO', 'ONE');
    }
    const { epoch } = (await store.append('room', [say('1')]))[0]!;
    const id = await info(redis, 'master_replid');
    if (run === 'other') await redis.hset(meta, 'run', 'f'.repeat(40));
    if (line === 'none') await redis.hdel(meta, 'line');
    if (line === 'more') await redis.hset(meta, 'line', `${id}:1:${id}`);
    if (line === 'other') await redis.hset(meta, 'line', `${'e'.repeat(40)}:`);
    const former = [{ epoch, offset: 1, kept: result === 'kept' }];
    const page = await store.read('room', { epoch, after: 1, limit: 5 });
    expect(page).toMatchObject({ offset: 1, complete: result !== 'not kept' });
    if (result === 'same') expect(page.epoch).toBe(epoch);
    else expect(page).toMatchObject({ epoch: expect.not.stringMatching(epoch), former });
    // It stays so, for all servers.
    const [appended] = await (await openStore()).append('room', [say('2')]);
    expect(appended).toEqual({ epoch: page.epoch, offset: 2 });
    expect(await redis.hget(meta, 'line')).toBe(`${id}:`);
    expect((await store.head('room')).epoch).toBe(page.epoch);
  });

  test('changes although nothing used the conversation between a failover and the failback', async () => {
    const replica = await startRedis('--repl-diskless-sync-delay', '0');
    const standIn = clientOf(replica);
    await store.append('room', [say('1'), say('2')]);
    await store.append('gone', [say('0')]);
    await redis.del(keys.of('gone').meta, keys.of('gone').stream);
    await standIn.replicaof('127.0.0.1', server.port);
    await until(async () => (await info(standIn, 'master_link_status')) === 'up');
    await store.append('room', [say('3')]);
    const { epoch } = await store.head('room');
    const [lost] = await store.append('gone', [say('1')]);
    await redis.del(keys.of('gone').meta, keys.of('gone').stream);
    // A log that begins again has another epoch, although nothing else has changed.
    const [again] = await store.append('gone', [say('1')]);
    expect(again).toMatchObject({ offset: 1, epoch: expect.not.stringMatching(lost!.epoch) });
    await redis.wait(1, 0);
    await standIn.replicaof('NO', 'ONE');
    await standIn.del(keys.of('gone').meta, keys.of('gone').stream);
    await store.append('room', [say('lost'), say('lost too')]);
    await redis.replicaof('127.0.0.1', replica.port);
    await until(async () => (await info(redis, 'master_link_status')) === 'up');
    await redis.replicaof('NO', 'ONE');
    const [next] = await store.append('room', [say('4')]);
    expect(next).toMatchObject({ offset: 4 });
    expect(next!.epoch).not.toBe(epoch);
    const page = await store.read('room', { epoch, after: 5, limit: 9 });
    expect(page).toMatchObject({
      complete: false,
      former: expect.arrayContaining([{ epoch, offset: 3, kept: false }]),
    });
    // The log that is gone as a whole begins with another epoch, too.
    expect((await store.append('gone', [say('new')]))[0]).toMatchObject({
      offset: 1,
      epoch: expect.not.stringMatching(lost!.epoch),
    });
  });
});

describe.each<[what: string, remove: () => Promise<unknown>]>([
  ['its hash', () => redis.del(meta)],
  ['its stream', () => redis.del(stream)],
  ['its hash and its stream', () => redis.del(meta, stream)],
  ['everything of its bucket', async () => redis.del(...(await redis.keys('*{history:*')))],
])('a conversation that has lost %s', (_what, remove) => {
  test('begins again in another epoch, its members get what follows, and the loss is told', async () => {
    const delivered: string[] = [];
    const findings: Finding[] = [];
    const member = new Resequencer(
      'room',
      store,
      ({ text }) => delivered.push(text),
      (finding) => findings.push(finding),
    );
    ends.push(() => member.close());
    const post = async (text: string) => {
      const [result] = await store.append('room', [say(text)]);
      member.receive({ ...say(text), ...result! });
      return result!;
    };
    await member.start();
    for (const text of ['1', '2', '3']) await post(text);
    await store.append('room', [say('keyed')], { key: 'key' });
    for (const round of [1, 2]) {
      const { epoch, offset } = await store.head('room');
      await remove();
      const head = await store.head('room');
      expect(head).toMatchObject({ offset: 0, epoch: expect.not.stringMatching(epoch) });
      const texts = Array.from({ length: 5 }, (_, index) => `${round} after ${index}`);
      for (const [index, text] of texts.entries()) {
        expect(await post(text)).toEqual({ epoch: head.epoch, offset: index + 1 });
      }
      await until(() => delivered.at(-1) === texts.at(-1));
      expect(delivered.slice(-5)).toEqual(texts);
      expect(findings).toEqual(Array(round).fill('lost'));
      expect(await store.read('room', { epoch, after: offset, limit: 9 })).toMatchObject({ complete: false });
    }
    // The message of this key is gone, too: its key must not name another one.
    const [repeated] = await store.append('room', [say('keyed')], { key: 'key' });
    expect(repeated).toEqual({ epoch: (await store.head('room')).epoch, offset: 6 });
  });
});

test('a conversation whose messages have become too old goes on in its epoch', async () => {
  const old = await RedisHistoryStore.open({ redis: server.url, ttlMs: 2000 });
  ends.push(() => old.close());
  const [first] = await old.append('room', [say('1')]);
  await old.trim(Date.now() + 10_000);
  expect(await old.append('room', [say('2')])).toEqual([{ epoch: first!.epoch, offset: 2 }]);
  await until(async () => (await redis.exists(stream)) === 0);
  expect(await redis.zscore(due, 'room')).not.toBeNull();
  expect(await old.append('room', [say('3')])).toEqual([{ epoch: first!.epoch, offset: 3 }]);
});
