import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Resequencer } from '../../../src/features/history/conversations/resequencer.js';
import { Keys } from '../../../src/features/history/redis/keys.js';
import { RedisHistoryStore } from '../../../src/features/history/redis/store.js';
import { RedisProcess, until } from '../../support/redis.js';
import { say, texts } from './contract/subject.js';

const keys = new Keys('gjallar:');
const { meta, stream } = keys.of('room');
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

/** A member of a room, what it gets, and how often it finds that messages are lost. */
async function startMember() {
  const heard: string[] = [];
  const found = { losses: 0 };
  const member = new Resequencer(
    'room',
    store,
    ({ text }) => heard.push(text),
    () => {
      found.losses++;
    },
  );
  ends.push(() => member.close());
  await member.start();
  const post = async (...texts: string[]) => {
    const messages = texts.map((text) => say(text));
    const results = await store.append('room', messages);
    for (const [index, message] of messages.entries()) member.receive({ ...message, ...results[index]! });
    return results;
  };
  return { member, heard, found, post };
}

test('a failover and a failback between two messages show with the next one', async () => {
  const replica = await startRedis('--repl-diskless-sync-delay', '0');
  const standIn = clientOf(replica);
  const { heard, found, post } = await startMember();
  await post('1', '2');
  await standIn.replicaof('127.0.0.1', server.port);
  await until(async () => (await info(standIn, 'master_link_status')) === 'up');
  await post('3');
  await until(async () => (await standIn.xlen(stream)) === 3);
  await standIn.replicaof('NO', 'ONE');
  const lost = await post('lost', 'lost too');
  await redis.replicaof('127.0.0.1', replica.port);
  await until(async () => (await info(redis, 'master_link_status')) === 'up');
  await redis.replicaof('NO', 'ONE');
  const { tag, offset } = lost[1]!;
  expect(await post('4', '5', '6')).toMatchObject([{ offset: 4 }, { offset: 5 }, { offset: 6 }]);
  await until(() => heard.at(-1) === '6');
  expect(heard).toEqual(['1', '2', '3', 'lost', 'lost too', '4', '5', '6']);
  expect(found.losses).toBe(1);
  const page = await store.read('room', { tag, after: offset, limit: 9 });
  expect(page).toMatchObject({ complete: false, lost: true, after: 3 });
  expect(texts(page.messages)).toEqual(['4', '5', '6']);
});

describe.each<[what: string, remove: () => Promise<unknown>]>([
  ['its hash', () => redis.del(meta)],
  ['its stream', () => redis.del(stream)],
  ['its hash and its stream', () => redis.del(meta, stream)],
  ['everything of its bucket', async () => redis.del(...(await redis.keys('*{history:*')))],
])('a conversation that has lost %s', (_what, remove) => {
  test('begins again, its members get what follows, and the loss is told', async () => {
    const { heard, found, post } = await startMember();
    for (const text of ['1', '2', '3']) await post(text);
    await store.append('room', [say('keyed')], { key: 'key' });
    for (const round of [1, 2]) {
      const { offset, tag } = await store.head('room');
      await remove();
      expect(await store.head('room')).toEqual({ offset: 0, tag: 0 });
      const texts = Array.from({ length: 5 }, (_, index) => `${round} after ${index}`);
      for (const [index, text] of texts.entries()) {
        expect(await post(text)).toMatchObject([{ offset: index + 1 }]);
      }
      await until(() => heard.at(-1) === texts.at(-1));
      expect(heard.slice(-5)).toEqual(texts);
      expect(found.losses).toBe(round);
      const page = await store.read('room', { tag, after: offset, limit: 9 });
      expect(page).toMatchObject({ complete: false, lost: true });
    }
    // The message of this key is gone, too: its key must not name another one.
    expect(await store.append('room', [say('keyed')], { key: 'key' })).toMatchObject([{ offset: 6 }]);
    expect((await store.append('room', [say('keyed')], { key: 'key' }))[0]!.duplicate).toBe(true);
  });
});

test('a conversation whose messages have become too old goes on', async () => {
  const old = await RedisHistoryStore.open({ redis: server.url, ttlMs: 2000 });
  ends.push(() => old.close());
  const [first] = await old.append('room', [say('1')]);
  await old.trim(Date.now() + 10_000);
  expect(await old.append('room', [say('2')])).toMatchObject([{ offset: 2, before: first!.tag }]);
});
