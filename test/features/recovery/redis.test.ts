import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Emitter } from '@socket.io/redis-emitter';
import { Redis } from 'ioredis';
import type { Backplane } from '../../../src/cluster/backplanes/backplane.js';
import { startMember, type TestNode } from '../../io/rooms/support/node.js';
import { atEnd } from '../../support/ends.js';
import { RedisProcess } from '../../support/redis.js';
import { until } from '../../support/until.js';
import { joinRedis, Wanderer } from './support/recovering.js';

let redis: RedisProcess;
let nodes: (TestNode & { bus: Backplane })[];
let wanderer: Wanderer;

beforeEach(async () => {
  redis = await RedisProcess.start();
  nodes = [];
  for (let count = 0; count < 2; count++) {
    const node = await startMember(await joinRedis(redis.url), { server: { connectionStateRecovery: {} } });
    nodes.push(node);
    node.io.on('connection', (socket) => {
      if (socket.recovered) return;
      void socket.join('room');
      socket.emit('n', 'hello', 0);
    });
  }
  wanderer = new Wanderer(nodes[0]!.url, 'websocket');
  await wanderer.heardAll(1);
});

afterEach(async () => {
  wanderer.close();
  for (const node of nodes) await node.close();
  await redis.remove();
});

async function away(at: number, client = wanderer): Promise<void> {
  const { id } = client.socket;
  await client.cutOff();
  await until(() => !nodes[at]!.io.of('/').sockets.has(id!));
}

/** Resolves when the keepers of the machines have met again, after their workers: some client of one is recovered on the other. */
async function untilKeepersMeet(): Promise<void> {
  await until(async () => {
    const probe = new Wanderer(nodes[0]!.url, 'websocket');
    await probe.heardAll(1);
    await away(0, probe);
    await probe.comeBack(nodes[1]!.url);
    probe.close();
    return probe.recovered[0]!;
  });
}

test('a client that may lack a message of an emitter gets a new session', async () => {
  const publisher = new Redis(redis.url);
  const emitter = new Emitter(publisher);
  atEnd(() => publisher.disconnect());
  await away(0);
  emitter.to('elsewhere').emit('n', 'emitter', 1);
  await wanderer.comeBack(nodes[1]!.url);
  expect(wanderer.recovered).toEqual([true]);
  emitter.to('room').emit('n', 'emitter', 2);
  await wanderer.heardAll(2);
  await away(1);
  const witness = new Wanderer(nodes[0]!.url, 'websocket');
  await witness.heardAll(1);
  emitter.to('room').emit('n', 'emitter', 3);
  await witness.heardAll(2);
  witness.close();
  await wanderer.comeBack(nodes[0]!.url);
  expect(wanderer.recovered).toEqual([true, false]);
});

test('a client that was away during an outage of Redis gets what the bus has lost', async () => {
  await away(0);
  await redis.stop();
  await until(() => nodes.every(({ bus }) => !bus.health.isUp));
  nodes[0]!.io.to('room').emit('n', 'lost', 1);
  await redis.start();
  await until(() => nodes.every(({ bus }) => bus.health.isUp));
  await until(async () => (await nodes[0]!.io.of('/').adapter.serverCount()) === 2);
  await untilKeepersMeet();
  await wanderer.comeBack(nodes[1]!.url);
  await wanderer.heardAll(2);
  await away(1);
  nodes[1]!.io.to('room').emit('n', 'kept', 1);
  await wanderer.comeBack(nodes[0]!.url);
  expect(wanderer.recovered).toEqual([true, true]);
  // What it has missed follows the packet that connects it.
  await until(() => wanderer.of('kept').length > 0);
  expect([wanderer.of('lost'), wanderer.of('kept')]).toEqual([[1], [1]]);
});

test('after an outage, a client that may lack a message of an emitter gets a new session', async () => {
  const publisher = new Redis(redis.url);
  new Emitter(publisher).to('room').emit('n', 'emitter', 1);
  await wanderer.heardAll(2);
  publisher.disconnect();
  await away(0);
  await redis.stop();
  await until(() => nodes.every(({ bus }) => !bus.health.isUp));
  await redis.start();
  await until(() => nodes.every(({ bus }) => bus.health.isUp));
  await wanderer.comeBack(nodes[0]!.url);
  expect(wanderer.recovered).toEqual([false]);
});
