import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Resequencer } from '../../../../src/features/history/conversations/resequencer.js';
import { RedisHistoryStore, redisClientOptions } from '../../../../src/features/history/redis/store.js';
import type { HistoryStore, LinkedMessage } from '../../../../src/features/history/store.js';
import { sayNumbers } from '../../../features/history/contract/subject.js';
import { RedisProcess, until } from '../../../support/redis.js';

const ROOM = 'room:hall';

let server: RedisProcess;
let client: Redis;
let store: RedisHistoryStore;
let follower: Follower;
let number = 0;

beforeEach(async () => {
  server = await RedisProcess.start();
  client = new Redis(server.url, redisClientOptions());
  client.on('error', () => {});
  store = await RedisHistoryStore.open({ redis: client });
  number = 0;
  follower = new Follower();
  await follower.resequencer.start();
});
afterEach(async () => {
  follower.resequencer.close();
  await store.close();
  client.disconnect();
  await server.remove();
});

/** A worker with members in the room. */
class Follower {
  readonly heard: string[] = [];
  losses = 0;
  readonly resequencer: Resequencer;
  /** Called with each page before the resequencer gets it. */
  afterRead: (() => unknown) | undefined;

  constructor() {
    const read: HistoryStore['read'] = async (conversation, query) => {
      const page = await store.read(conversation, query);
      await this.afterRead?.();
      return page;
    };
    const seen = { read, head: (conversation: string) => store.head(conversation) } as HistoryStore;
    this.resequencer = new Resequencer(
      ROOM,
      seen,
      ({ text }) => this.heard.push(text),
      () => {
        this.losses++;
      },
    );
  }

  /** Takes messages as the bus brings them, and waits until the last one is delivered. */
  async hears(messages: readonly LinkedMessage[]): Promise<void> {
    for (const message of messages) this.resequencer.receive(message);
    await until(() => this.heard.at(-1) === messages.at(-1)!.text);
  }
}

/** Posts messages, each with its number. */
async function post(count: number): Promise<LinkedMessage[]> {
  const messages = sayNumbers(number + 1, number + count);
  number += count;
  const results = await store.append(ROOM, messages);
  return messages.map((message, index) => ({ ...message, ...results[index]! }));
}

/** Kills Redis and starts it again with what its disk has. */
async function restart(): Promise<void> {
  const ready = new Promise<void>((resolve) => client.once('ready', () => resolve()));
  await server.stop('SIGKILL');
  await server.start();
  await ready;
}

const numbers = (from: number, to: number) => sayNumbers(from, to).map(({ text }) => text);

describe('when Redis comes back empty', () => {
  test('twice, and once more while nobody reads, every message arrives once', async () => {
    await follower.hears(await post(20));
    await restart();
    await follower.hears(await post(5));
    await restart();
    await post(3);
    await restart();
    await follower.hears(await post(4));
    expect(follower.heard).toEqual([...numbers(1, 25), ...numbers(29, 32)]);
  });

  test('while a page is read, no message of the lost log is taken for one of the new log', async () => {
    await follower.hears(await post(20));
    const missed = await post(3);
    let fresh: LinkedMessage[] = [];
    // The log is replaced between the two commands of a read.
    client.xrange = (async (...what: [string, string, string]) => {
      client.xrange = Redis.prototype.xrange;
      await client.flushall();
      fresh = await post(23);
      return client.xrange(...what);
    }) as never;
    follower.resequencer.catchUp();
    await until(() => fresh.length > 0);
    await follower.hears(fresh);
    expect(follower.heard).toEqual([...numbers(1, 20), ...fresh.map(({ text }) => text)]);
    expect(missed).toHaveLength(3);
  });

  test('and a message of the new log arrives while the old one is read, it is not dropped', async () => {
    await follower.hears(await post(20));
    const [missed] = await post(1);
    follower.afterRead = async () => {
      follower.afterRead = undefined;
      await restart();
      for (const message of await post(2)) follower.resequencer.receive(message);
    };
    follower.resequencer.receivePosition(missed!);
    await until(() => follower.heard.includes('23'));
    await follower.hears(await post(1));
    expect(follower.heard).toEqual(numbers(1, 24));
  });

  test('and an announcement of the old log comes last, it is delivered in its order or not at all', async () => {
    await follower.hears(await post(20));
    const [next, afterGap] = [await post(1), await post(2)];
    await restart();
    const fresh = await post(2);
    for (const message of [...fresh, ...next, afterGap[1]!]) follower.resequencer.receive(message);
    await until(() => follower.heard.includes('25'));
    follower.resequencer.receive(next[0]!);
    await follower.hears(await post(1));
    expect(follower.heard).toEqual([...numbers(1, 21), ...numbers(24, 26)]);
  });
});

describe('when Redis comes back with an older state', () => {
  test('again and again from the same state, also if its epoch was never read here', async () => {
    await follower.hears(await post(20));
    await client.save();
    for (let times = 0; times < 4; times++) {
      await follower.hears(await post(3));
      await restart();
    }
    expect(follower.heard).toEqual(numbers(1, 32));
    await follower.hears(await post(1));
    expect(follower.heard).toEqual(numbers(1, 33));
  });

  test('after it was empty for a time, only new messages are delivered', async () => {
    await follower.hears(await post(20));
    const position = follower.resequencer.position;
    await client.save();
    const dump = await Promise.all(
      (await client.keys('*')).map(async (key) => [key, await client.dumpBuffer(key)] as const),
    );
    await client.flushall();
    await follower.hears(await post(4));
    // The operator finds the right data.
    await client.flushall();
    for (const [key, value] of dump) await client.restore(key, 0, value!);
    expect(await store.head(ROOM)).toEqual(position);
    await follower.hears(await post(2));
    expect(follower.heard).toEqual(numbers(1, 26));
  });
});

test('starts with what the first message to arrive has overtaken, and not with older ones', async () => {
  await store.append(ROOM, sayNumbers(1, 3, Date.now() - 60_000));
  number = 3;
  const messages = await post(5);
  const late = new Follower();
  late.resequencer.receive(messages[3]!);
  late.resequencer.startFrom(messages[3]!);
  await until(() => late.heard.length === 5);
  expect(late.heard).toEqual(['4', '5', '6', '7', '8']);
  late.resequencer.close();
});

test('a read on a replica works, and is no event', async () => {
  await follower.hears(await post(20));
  await client.save();
  await restart();
  // From now on nothing can be written.
  await client.call('REPLICAOF', '127.0.0.1', '1');
  const query = { after: 0, limit: 5 };
  expect(await store.read(ROOM, query)).toMatchObject({ offset: 20, messages: [{ text: '1' }, {}, {}, {}, {}] });
  expect(await store.head('room:without messages')).toEqual(await store.head('room:without messages'));
  await expect(store.append(ROOM, sayNumbers(1, 1))).rejects.toMatchObject({
    code: 'HISTORY_UNAVAILABLE',
    cause: { message: expect.stringContaining('READONLY') },
  });
  follower.resequencer.catchUp();
  await client.call('REPLICAOF', 'NO', 'ONE');
  await follower.hears(await post(3));
  expect(follower.heard).toEqual(numbers(1, 23));
  expect(follower.losses).toBe(0);
});
