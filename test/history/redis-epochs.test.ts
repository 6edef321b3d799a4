import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Resequencer } from '../../src/history/conversations/resequencer.js';
import { Canary } from '../../src/history/loss/canary.js';
import { Keys } from '../../src/history/redis/keys.js';
import { RedisEpochRenewal } from '../../src/history/redis/renewal.js';
import { RedisHistoryStore } from '../../src/history/redis/store.js';
import { RedisProcess, until } from '../support/redis.js';
import { say, texts } from './contract/subject.js';

const keys = new Keys('gjallar:');
const { meta, stream, generation } = keys.of('room');
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

/** Remembers the room as it is. The function that is returned sets it back. */
async function remember(): Promise<() => Promise<void>> {
  const dumps = await Promise.all([meta, stream].map(async (key) => [key, await redis.dumpBuffer(key)] as const));
  return async () => {
    for (const [key, dump] of dumps) await redis.restore(key, 0, dump!, 'REPLACE');
  };
}

function canaryOf(name: string): { canary: Canary; key: string } {
  const key = keys.canary(0, name);
  return { canary: new Canary(redis, key, new RedisEpochRenewal(redis, 'gjallar:', 0)), key };
}

/** What a server of an earlier version has written has no line. */
type Line = 'none' | { id: 'same' | 'other'; generation: string };
const same: Line = { id: 'same', generation: '' };
/** The replication id of Redis, as a generation names it. */
const ID = 'ID';

describe('the epoch of a conversation', () => {
  test.each<
    [run: 'same' | 'other', Line, generation: string, promoted: boolean, aof: boolean, 'same' | 'kept' | 'not kept']
  >([
    ['same', same, '', false, false, 'same'],
    ['same', 'none', '', false, false, 'same'],
    ['same', 'none', `1:${ID}`, false, true, 'not kept'],
    ['same', same, `1:${ID}`, false, true, 'not kept'],
    ['same', same, '1:before', false, false, 'same'],
    ['same', { id: 'same', generation: `1:${ID}` }, `1:${ID}`, false, false, 'same'],
    ['same', { id: 'same', generation: `2:${ID}` }, `1:${ID}`, false, true, 'not kept'],
    ['same', { id: 'same', generation: '1:before' }, `2:${ID}`, false, true, 'not kept'],
    ['same', { id: 'other', generation: '' }, '', false, false, 'kept'],
    ['same', { id: 'other', generation: '' }, '', true, true, 'not kept'],
    ['same', { id: 'other', generation: '' }, '1:before', false, true, 'not kept'],
    ['other', { id: 'other', generation: '' }, '', false, true, 'kept'],
    ['other', { id: 'other', generation: '' }, '', false, false, 'not kept'],
    ['other', { id: 'other', generation: '' }, '', true, true, 'not kept'],
    ['other', { id: 'other', generation: '' }, '1:before', false, true, 'not kept'],
    ['other', 'none', '', false, true, 'kept'],
    ['other', 'none', '', false, false, 'not kept'],
  ])(
    'process %s, line %j, generation %j, promoted %j, append-only %j: %s',
    async (run, line, present, promoted, aof, result) => {
      if (aof) await redis.config('SET', 'appendonly', 'yes');
      if (promoted) {
        await redis.replicaof('127.0.0.1', 1);
        await redis.replicaof('NO', 'ONE');
      }
      const { epoch } = (await store.append('room', [say('1')]))[0]!;
      const id = await info(redis, 'master_replid');
      if (run === 'other') await redis.hset(meta, 'run', 'f'.repeat(40));
      if (line === 'none') await redis.hdel(meta, 'line');
      else
        await redis.hset(
          meta,
          'line',
          `${line.id === 'same' ? id : 'e'.repeat(40)}:${line.generation.replace(ID, id)}`,
        );
      if (present) await redis.set(generation, present.replace(ID, id));
      const former = [{ epoch, offset: 1, kept: result === 'kept' }];
      const page = await store.read('room', { epoch, after: 1, limit: 5 });
      expect(page).toMatchObject({ offset: 1, complete: result !== 'not kept' });
      if (result === 'same') expect(page.epoch).toBe(epoch);
      else expect(page).toMatchObject({ epoch: expect.not.stringMatching(epoch), former });
      // It stays so, for all servers.
      const [appended] = await (await openStore()).append('room', [say('2')]);
      expect(appended).toEqual({ epoch: page.epoch, offset: 2 });
      expect(await redis.hget(meta, 'line')).toBe(`${id}:${present.replace(ID, id)}`);
      expect((await store.head('room')).epoch).toBe(page.epoch);
    },
  );

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
    const [again] = await store.append('gone', [say('1')]);
    expect(lost).toEqual(again);
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

test('a log that is shorter with the same epoch has a new one once a canary shows it, once for all servers', async () => {
  const stores = [store, await openStore()];
  const canaries = [canaryOf('one'), canaryOf('other')];
  const delivered: string[][] = stores.map(() => []);
  const members = stores.map((one, index) => new Resequencer('room', one, ({ text }) => delivered[index]!.push(text)));
  ends.push(() => {
    for (const member of members) member.close();
  });
  const post = async (text: string) => {
    const [result] = await store.append('room', [say(text)]);
    for (const member of members) member.receive({ ...say(text), ...result! });
    return result!;
  };
  await post('1');
  for (const member of members) await member.start();
  for (const { canary } of canaries) expect(await canary.hasLost()).toBe(false);
  for (let times = 1; times <= 2; times++) {
    const setBack = await remember();
    const { epoch } = await store.head('room');
    for (const text of ['a', 'b', 'c']) await post(`${text}${times}`);
    for (const { canary } of canaries) expect(await canary.hasLost()).toBe(false);
    await setBack();
    expect((await store.head('room')).epoch).toBe(epoch);
    for (const { key } of canaries) await redis.set(key, 1);
    for (const { canary } of canaries) expect(await canary.hasLost()).toBe(true);
    expect(await redis.get(generation)).toMatch(new RegExp(`^${times}:`));
    const next = await post(`after ${times}`);
    expect(next.epoch).not.toBe(epoch);
    const texts =
      times === 1 ? ['a1', 'b1', 'c1', 'after 1'] : ['a1', 'b1', 'c1', 'after 1', 'a2', 'b2', 'c2', 'after 2'];
    for (const list of delivered) {
      await until(() => list.length >= texts.length);
      expect(list).toEqual(texts);
    }
    const page = await store.read('room', { epoch, after: next.offset + 1, limit: 9 });
    expect(page).toMatchObject({
      complete: false,
      former: expect.arrayContaining([expect.objectContaining({ epoch, kept: false })]),
    });
  }
});

test('a Redis that has become a replica stores nothing and says so, in rooms it has and in others', async () => {
  await store.append('room', [say('1')]);
  await redis.replicaof('127.0.0.1', 1);
  for (const room of ['room', 'other']) {
    const append = store.append(room, [say('x')], { key: 'key' });
    await expect(append).rejects.toMatchObject({
      code: 'HISTORY_UNAVAILABLE',
      cause: { message: expect.stringContaining('READONLY') },
    });
  }
  await redis.replicaof('NO', 'ONE');
  expect(await store.append('room', [say('2')], { key: 'key' })).toMatchObject([{ offset: 2 }]);
  expect(texts((await store.read('room', { after: 0, limit: 5 })).messages)).toEqual(['1', '2']);
  expect(await store.head('other')).toMatchObject({ offset: 0 });
});
