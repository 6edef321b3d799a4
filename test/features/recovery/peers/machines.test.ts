import { afterEach, expect, test } from '@jest/globals';
import type { Backplane } from '../../../../src/cluster/backplanes/backplane.js';
import { startMember, type TestNode } from '../../../io/rooms/support/node.js';
import { NatsProcess } from '../../../support/nats.js';
import { RedisProcess } from '../../../support/redis.js';
import { until } from '../../../support/until.js';
import { joinNats, joinRedis, Wanderer } from '../support/recovering.js';

const servers = {
  redis: async () => {
    const redis = await RedisProcess.start();
    return { join: () => joinRedis(redis.url), remove: () => redis.remove() };
  },
  'redis-frames': async () => {
    const redis = await RedisProcess.start();
    return { join: () => joinRedis(redis.url, {}, 'redis-frames'), remove: () => redis.remove() };
  },
  nats: async () => {
    const nats = await NatsProcess.start();
    return { join: () => joinNats(nats.url), remove: () => nats.remove() };
  },
};

const nodes: TestNode[] = [];
const clients: Wanderer[] = [];
let remove: (() => Promise<void>) | undefined;

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const node of nodes.splice(0)) await node.close();
  await remove?.();
});

async function start(join: () => Promise<Backplane>): Promise<TestNode> {
  const node = await startMember(await join(), { server: { connectionStateRecovery: {} } });
  nodes.push(node);
  node.io.on('connection', (socket) => {
    if (socket.recovered) return;
    void socket.join('room');
    socket.emit('n', 'hello', 0);
  });
  await until(async () => (await node.io.of('/').adapter.serverCount()) === nodes.length);
  return node;
}

async function client(at: TestNode): Promise<Wanderer> {
  const one = new Wanderer(at.url, 'websocket');
  clients.push(one);
  await one.heardAll(1);
  return one;
}

async function cutOff(one: Wanderer, from: TestNode): Promise<void> {
  await one.cutOff();
  await until(() => from.io.of('/').sockets.size === 0);
}

test.each(Object.entries(servers))(
  'a rolling restart of machines on %s: clients recover on machines that have just started',
  async (_, open) => {
    const server = await open();
    remove = server.remove;
    const [first, second] = [await start(server.join), await start(server.join)] as const;
    const [one, other] = [await client(first), await client(second)] as const;
    first.io.to('room').emit('n', 'news', 1);
    for (const each of clients) await until(() => each.of('news').length === 1);
    await cutOff(one, first);
    second.io.to('room').emit('n', 'news', 2);
    await until(() => other.of('news').length === 2);
    // What its sender sends no more, and what a client that is away has missed, only the second machine knows.
    nodes.splice(0, 1);
    await first.close();
    const third = await start(server.join);
    await one.comeBack(third.url);
    await cutOff(other, second);
    third.io.to('room').emit('n', 'news', 3);
    nodes.splice(0, 1);
    await second.close();
    const fourth = await start(server.join);
    await other.comeBack(fourth.url);
    expect([one, other].map(({ recovered }) => recovered)).toEqual([[true], [true]]);
    fourth.io.to('room').emit('n', 'news', 4);
    for (const each of clients) await until(() => each.of('news').length >= 4);
    expect(clients.map((each) => each.of('news'))).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ]);
  },
);
