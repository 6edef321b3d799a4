import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { DurableRooms as Helper, type Recovery } from '../../../public/gjallar-client.js';
import { createDurableRooms, type DurableRooms, RedisHistoryStore } from '../../../src/features/history/index.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { startNode, type TestNode } from '../../io/rooms/support/node.js';
import { temporaryFolder } from '../../support/folder.js';
import { RedisProcess } from '../../support/redis.js';
import { Reported } from '../../support/reports.js';
import { until } from '../../support/until.js';
import '../../support/long.js';

const ROOM = 'order:1';
const rounds = Number(process.env.LOSSES ?? 12);
const ends: (() => unknown)[] = [];
let node: TestNode;
let reported: Reported;
let posted = 0;

beforeEach(async () => {
  reported = Reported.here();
  node = await startNode(alone);
  ends.push(() => node.close());
  posted = 0;
});
afterEach(async () => {
  disconnectAll();
  for (const end of ends.splice(0).reverse()) await end();
});

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** A client of the room that stays connected, and what it gets. */
async function member() {
  const { client } = await pairOn(node);
  const heard: number[] = [];
  const recoveries: Recovery[] = [];
  const rooms = new Helper(client);
  ends.push(() => rooms.close());
  const room = await rooms.join(ROOM, { onRecovered: (recovery) => recoveries.push(recovery) });
  room.on('n', (number) => heard.push(number));
  return { heard, recoveries };
}

async function post(durable: DurableRooms, count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    const emit = () =>
      durable
        .to(ROOM)
        .emit('n', posted + 1)
        .then(
          () => true,
          () => false,
        );
    // While Redis starts, nothing is kept.
    await until(emit);
    posted++;
  }
}

/** Random, but the same in each run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state % below;
  };
}

test('a Redis that loses messages again and again: members get each once and in order, and the loss is told', async () => {
  const redis = await RedisProcess.start();
  ends.push(() => redis.remove());
  const operator = new Redis(redis.url, { retryStrategy: () => 20 });
  operator.on('error', () => {});
  ends.push(() => operator.disconnect());
  const store = RedisHistoryStore.connect({ redis: redis.url, onError: () => {} });
  ends.push(() => store.close());
  const durable = await createDurableRooms(node.io, { rooms: 'order:*', store, mayJoin: () => true });
  ends.push(() => durable.close());
  await post(durable, 3);
  const { heard, recoveries } = await member();
  const random = randomFrom(7);
  const restarted = async () => {
    await redis.stop('SIGKILL');
    await redis.start();
    await store.ready();
  };
  const losses = [
    () => operator.flushall(),
    restarted,
    async () => operator.del(...(await operator.keys('*history*'))),
  ];
  await operator.save();
  for (let round = 0; round < rounds; round++) {
    if (random(4) === 0) await operator.save();
    await post(durable, 1 + random(150));
    await until(() => heard.at(-1) === posted);
    const told = recoveries.length;
    await losses[random(losses.length)]!();
    await post(durable, 1 + random(150));
    await until(() => heard.at(-1) === posted);
    expect(heard).toEqual(numbers(4, posted));
    await until(() => recoveries.slice(told).some(({ complete }) => !complete));
  }
  expect(reported.down).toContain('Redis has lost messages that it had confirmed');
});

test('a file that is replaced by an older one, or removed, again and again: the same', async () => {
  const folder = temporaryFolder();
  const dataDir = join(folder, 'data');
  const open = () => createDurableRooms(node.io, { rooms: 'order:*', dataDir, mayJoin: () => true });
  let durable = await open();
  ends.push(() => durable.close());
  await post(durable, 3);
  const { heard, recoveries } = await member();
  const random = randomFrom(11);
  const copy = join(folder, 'copy.db');
  const database = join(dataDir, 'history.db');
  for (let round = 0; round < rounds; round++) {
    const told = recoveries.length;
    await durable.close();
    if (random(3) === 0 || round === 0) cpSync(database, copy);
    durable = await open();
    await post(durable, 1 + random(150));
    await until(() => heard.at(-1) === posted);
    await durable.close();
    if (random(3) === 0) rmSync(database);
    else cpSync(copy, database);
    const problems = reported.messages.length;
    durable = await open();
    await until(() => reported.messages.length > problems);
    await post(durable, 1 + random(150));
    await until(() => heard.at(-1) === posted);
    expect(heard).toEqual(numbers(4, posted));
    await until(() => recoveries.slice(told).some(({ complete }) => !complete));
  }
  expect(reported.messages).toContain('The file of durable rooms has lost messages that it had confirmed');
});
