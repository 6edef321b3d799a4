import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { createShardedAdapter } from '@socket.io/redis-adapter';
import { createAdapter as createStreamsAdapter } from '@socket.io/redis-streams-adapter';
import { Cluster, Redis } from 'ioredis';
import { Server } from '../../../../src/index.js';
import { connect, disconnectAll } from '../../../support/clients.js';
import { RedisCluster, RedisProcess, until, untilAlone } from '../../../support/redis.js';

/** The adapters of stock socket.io, passed as docs/fan-out.md describes. */

const closers: (() => unknown)[] = [];

afterEach(async () => {
  disconnectAll();
  for (const close of closers.splice(0).reverse()) await close();
});

type MakeAdapter = () => Promise<unknown>;

async function startCluster(): Promise<MakeAdapter> {
  const cluster = await RedisCluster.start();
  closers.push(() => cluster.remove());
  const nodes = cluster.processes.map(({ url }) => url);
  return async () => {
    const publisher = new Cluster(nodes);
    const subscriber = new Cluster(nodes, { shardedSubscribers: true });
    closers.push(() => Promise.all([publisher.quit(), subscriber.quit()]));
    // The adapter repeats no subscription, and ioredis rejects those that come before it knows the cluster.
    await until(() => subscriber.ssubscribe('any').then(Boolean, () => false));
    return createShardedAdapter(publisher, subscriber);
  };
}

async function startRedis(): Promise<MakeAdapter> {
  const redis = await RedisProcess.start();
  closers.push(() => redis.remove());
  const observer = new Redis(redis.url);
  // The adapter's connections end after those of the application.
  closers.push(async () => {
    await untilAlone(observer);
    observer.disconnect();
  });
  return async () => {
    const publisher = new Redis(redis.url);
    closers.push(() => publisher.quit());
    return createStreamsAdapter(publisher, { blockTimeInMs: 100 });
  };
}

test.each([
  ['createShardedAdapter() on a Redis Cluster', startCluster],
  ['@socket.io/redis-streams-adapter', startRedis],
])('rooms span two servers with %s', async (_name, start) => {
  const makeAdapter = await start();
  const servers = await Promise.all(
    [0, 1].map(async () => {
      const http = createServer();
      const io = new Server(http, { adapter: (await makeAdapter()) as never });
      closers.push(() => io.close());
      io.on('connection', (socket) => {
        socket.on('join', async (room: string, done: () => void) => {
          await socket.join(room);
          done();
        });
      });
      http.listen(0, '127.0.0.1');
      await once(http, 'listening');
      return { io, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
    }),
  );
  for (const { io } of servers) await until(async () => (await io.of('/').adapter.serverCount()) === 2);
  const clients = servers.map(({ url }) => connect(url));
  const heard = clients.map((client) => {
    const numbers: number[] = [];
    client.on('n' as never, ((number: number) => numbers.push(number)) as never);
    return numbers;
  });
  // Three members make the room a topic.
  for (const client of [...clients, connect(servers[1]!.url)]) await client.emitWithAck('join', 'room');
  const [first, second] = servers as [(typeof servers)[0], (typeof servers)[0]];
  // A message may leave before the other server has subscribed, or begun to read.
  const repeat = setInterval(() => {
    for (const { io } of servers) io.to('room').emit('n', -1);
  }, 20);
  await until(() => heard.every((numbers) => numbers.length > 4));
  clearInterval(repeat);
  const all = Array.from({ length: 50 }, (_, number) => number);
  for (const number of all) (number % 2 === 0 ? first : second).io.to('room').emit('n', number);
  const sent = (numbers: number[]) => numbers.filter((number) => number >= 0);
  await until(() => heard.every((numbers) => sent(numbers).length >= all.length));
  for (const numbers of heard) {
    for (const rest of [0, 1]) {
      expect(sent(numbers).filter((number) => number % 2 === rest)).toEqual(
        all.filter((number) => number % 2 === rest),
      );
    }
  }
  expect(await first.io.in('room').fetchSockets()).toHaveLength(3);
});
