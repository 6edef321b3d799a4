import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createAdapter } from '@socket.io/redis-adapter';
import { Emitter } from '@socket.io/redis-emitter';
import { Redis } from 'ioredis';
import { redisBackplane } from '../../../../src/cluster/backplanes/redis/classic.js';
import { disconnectAll, type Pair, pairOn, receivedBy } from '../../../io/rooms/support/clients.js';
import { startMember, type TestNode } from '../../../io/rooms/support/node.js';
import { startStock } from '../../../io/rooms/support/stock.js';
import { nextEvent } from '../../../support/clients.js';
import { RedisProcess, until } from '../../../support/redis.js';

/** A server with stock @socket.io/redis-adapter, on stock everything. */
async function startOther(url: string): Promise<Pick<TestNode, 'io' | 'url' | 'close'>> {
  const clients = [new Redis(url), new Redis(url)] as const;
  const node = await startStock({ adapter: createAdapter(...clients) });
  return {
    ...node,
    close: async () => {
      await node.close();
      // The adapter does not wait for its last commands, which must not fail for want of a connection.
      await Promise.all(clients.map((client) => client.quit()));
    },
  };
}

describe('one Redis with stock socket.io servers and emitters', () => {
  let redis: RedisProcess;
  let ours: TestNode;
  let stock: Pick<TestNode, 'io' | 'url' | 'close'>;
  let emitting: Redis;
  let emitter: Emitter;

  beforeAll(async () => {
    redis = await RedisProcess.start();
    ours = await startMember(redisBackplane(redis.url));
    stock = await startOther(redis.url);
    emitting = new Redis(redis.url);
    emitter = new Emitter(emitting);
    for (const { io } of [ours, stock]) await until(async () => (await io.of('/').adapter.serverCount()) === 2);
  });

  afterEach(() => disconnectAll());

  afterAll(async () => {
    await emitting.quit();
    await stock.close();
    await ours.close();
    await redis.remove();
  });

  const bytes = Buffer.from([0, 127, 128, 255]);

  async function pairsIn(room: string): Promise<[Pair, Pair]> {
    const pairs = [await pairOn(ours), await pairOn(stock)] as [Pair, Pair];
    await Promise.all(pairs.map(({ socket }) => socket.join(room)));
    return pairs;
  }

  test('both hear what either says, once', async () => {
    const pairs = await pairsIn('mixed');
    for (const [index, { io }] of [ours, stock].entries()) {
      io.to('mixed').emit('value', { index, bytes, text: 'ünïcödé ✓' });
      io.to(['mixed', 'other']).except(pairs[index]!.socket.id).emit('excepted', index);
    }
    const [first, second] = await receivedBy(pairs, [ours, stock]);
    const values = [0, 1].map((index) => ['value', { index, bytes, text: 'ünïcödé ✓' }]);
    expect(first).toEqual(expect.arrayContaining([...values, ['excepted', 1]]));
    expect(second).toEqual(expect.arrayContaining([...values, ['excepted', 0]]));
    expect([first, second].map((events) => events!.length)).toEqual([3, 3]);
  });

  test('each finds, moves and asks the clients of the other', async () => {
    const pairs = await pairsIn('found');
    const ids = pairs.map(({ socket }) => socket.id).sort();
    for (const { client } of pairs) client.on('ask', (reply: (id: string) => void) => reply(client.id!));
    for (const [index, { io }] of [ours, stock].entries()) {
      expect((await io.in('found').fetchSockets()).map(({ id }) => id).sort()).toEqual(ids);
      expect((await io.timeout(20_000).to('found').emitWithAck('ask')).sort()).toEqual(ids);
      io.in('found').socketsJoin(`moved by ${index}`);
      await until(() => pairs.every(({ socket }) => socket.rooms.has(`moved by ${index}`)));
      io.in('found').socketsLeave(`moved by ${index}`);
      await until(() => pairs.every(({ socket }) => !socket.rooms.has(`moved by ${index}`)));
    }
    stock.io.on('sum', (a: number, b: number, reply: (sum: number) => void) => reply(a + b));
    ours.io.on('product', (a: number, b: number, reply: (product: number) => void) => reply(a * b));
    expect(await ours.io.serverSideEmitWithAck('sum', 2, 3)).toEqual([5]);
    expect(await stock.io.serverSideEmitWithAck('product', 2, 3)).toEqual([6]);
  });

  test('an emitter of another process reaches the clients', async () => {
    const pairs = await pairsIn('emitted');
    emitter.to('emitted').emit('value', bytes, { nested: [1, null] });
    emitter.to('emitted').except(pairs[0]!.socket.id).emit('excepted');
    emitter.to('nobody').emit('lost');
    emitter.emit('all');
    const [first, second] = await receivedBy(pairs, [ours, stock]);
    const value = ['value', bytes, { nested: [1, null] }];
    expect(first).toEqual([value, ['all']]);
    expect(second).toEqual([value, ['excepted'], ['all']]);

    emitter.in('emitted').socketsJoin('by the emitter');
    await until(() => pairs.every(({ socket }) => socket.rooms.has('by the emitter')));
    const told = nextEvent(ours.io, 'news');
    emitter.serverSideEmit('news', 'from outside');
    expect(await told).toEqual(['from outside']);
    const gone = nextEvent(pairs[0]!.client, 'disconnect');
    emitter.in('emitted').disconnectSockets(true);
    await gone;
  });
});
