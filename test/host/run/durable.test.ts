import { afterAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../../support/clients.js';
import { metric } from '../../support/metrics.js';
import { DURABLE, RedisProcess } from '../../support/redis.js';
import { readiness } from '../../support/reports.js';
import { until } from '../../support/until.js';
import { runApp, stopAll } from './support/application.js';

const clients: Socket[] = [];
const stores: RedisProcess[] = [];

afterAll(async () => {
  for (const client of clients) client.disconnect();
  await stopAll();
  await Promise.all(stores.map((redis) => redis.remove()));
});

/** An application with a Redis of its own, so that the tests can wait at the same time. */
async function start() {
  const redis = await RedisProcess.start(...DURABLE);
  stores.push(redis);
  const app = await runApp('parts/durable.mjs', { env: { STORE_URL: redis.url, WORKERS: '1' } });
  const client = io(app.url, { forceNew: true, transports: ['websocket'] });
  clients.push(client);
  await nextEvent(client as never, 'connect');
  const post = (value: unknown): Promise<string> => client.emitWithAck('post', value);
  // The store connects by itself, and the application does not wait for that.
  await until(async () => (await post(1)) === 'kept');
  const storeIsUp = async () => (await metric(app.admin, 'gjallar_durable_up'))[0];
  const ready = () => readiness(app.admin);
  return { app, client, post, storeIsUp, ready, redis };
}

/** Waits until the store is told to be down for this reason. */
async function isDown({ app, post, storeIsUp, ready }: Awaited<ReturnType<typeof start>>, problem: string) {
  await until(async () => {
    await post(2);
    return (await ready()).problems.includes(problem);
  });
  await app.logged(({ msg }) => msg === problem);
  // The admin port keeps figures for a moment.
  await until(async () => (await storeIsUp()) === 0);
}

async function isUp({ app, post, storeIsUp, ready }: Awaited<ReturnType<typeof start>>) {
  await app.logged(({ msg }) => /^over: .*durable rooms/.test(String(msg)));
  expect(await post(3)).toBe('kept');
  await until(async () => (await storeIsUp()) === 1);
  expect((await ready()).problems).toEqual([]);
}

test.concurrent('the log, /readyz and a metric tell that the store of durable rooms is down, and when it is back', async () => {
  const scene = await start();
  expect(await scene.storeIsUp()).toBe(1);
  await scene.redis.stop();
  await isDown(scene, 'Redis is unreachable: messages of durable rooms cannot be stored or read');
  await scene.redis.start();
  await isUp(scene);
});

test.concurrent('they tell that the store has lost messages', async () => {
  const scene = await start();
  const operator = new Redis(scene.redis.url);
  await operator.call('FLUSHALL');
  operator.disconnect();
  expect(await scene.post(2)).toBe('kept');
  const lost = 'Redis has lost messages that it had confirmed';
  await scene.app.logged(({ msg }) => msg === lost);
  expect((await scene.ready()).problems).toEqual([lost]);
  // The new ones arrive.
  const status = nextEvent(scene.client as never, 'status');
  expect(await scene.post(4)).toBe('kept');
  expect(await status).toBeDefined();
});
