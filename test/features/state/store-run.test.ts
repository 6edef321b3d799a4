import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { io, type Socket } from 'socket.io-client';
import { runApp, stopAll } from '../../host/run/support/application.js';
import { DURABLE, RedisProcess } from '../../support/redis.js';
import { readiness } from '../../support/reports.js';
import { until } from '../../support/until.js';
import { storedIn } from './support/stored.js';
import { View } from './support/view.js';

const clients: Socket[] = [];
let redis: RedisProcess | undefined;

afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await stopAll();
  await redis?.remove();
  redis = undefined;
});

function connect(url: string): { client: Socket; view: View } {
  const client = io(url, { forceNew: true, transports: ['websocket'], reconnection: false });
  clients.push(client);
  return { client, view: new View(client, 'quote') };
}

async function metric(admin: string, pattern: RegExp): Promise<string[]> {
  const text = await (await fetch(`${admin}/metrics`)).text();
  return text.split('\n').filter((line) => pattern.test(line));
}

test('under gjallar run, the state outlives the servers, and operators learn what is down', async () => {
  redis = await RedisProcess.start(...DURABLE);
  // The rights that the documentation names, and no others.
  const docs = readFileSync(new URL('../../../docs/operations/redis.md', import.meta.url), 'utf8');
  const rule = /^ACL SETUSER gjallar (.*hscan.*)$/m.exec(docs)![1]!;
  const rights = rule.replaceAll('gjallar:*', 'staging:*').replaceAll('socket.io', 'staging').split(' ');
  const operator = new Redis(redis.url);
  await operator.call('ACL', 'SETUSER', 'gjallar', ...rights);
  await operator.call('CONFIG', 'SET', 'maxmemory', '0');
  operator.on('error', () => {});
  const { url } = redis;
  const env = { GJALLAR_REDIS_URL: url.replace('//', '//gjallar:secret@'), GJALLAR_REDIS_PREFIX: 'staging' };
  const app = await runApp('state.mjs', { env });
  const { client, view } = connect(app.url);
  await client.emitWithAck('watch', {});
  await client.emitWithAck('set', 'a', 1);
  await view.shows(({ a }) => a === 1);
  const key = 'staging:{state:%2F:quotes}';
  await until(async () => (await storedIn(url, key)).a === '1');

  // Redis takes no writes: the log, /readyz, a metric and the alert rule's metric say so.
  await operator.call('CONFIG', 'SET', 'maxmemory', '1');
  await client.emitWithAck('set', 'b', 2);
  await view.shows(({ b }) => b === 2);
  const problem = 'Redis rejects writes (OOM): state rooms are not stored';
  await app.logged(({ msg }) => msg === problem);
  await until(async () => {
    return (await readiness(app.admin)).problems.includes(problem);
  });
  expect((await metric(app.admin, /^gjallar_problem\{.*state rooms are not stored/)).length).toBe(1);
  expect(await metric(app.admin, /^gjallar_state_store_up /)).toEqual(['gjallar_state_store_up 0']);
  await operator.call('CONFIG', 'SET', 'maxmemory', '0');
  await app.logged(({ msg }) => msg === `over: ${problem}`);
  await until(async () => (await storedIn(url, key)).b === '2');

  // A stop stores what was set last.
  await client.emitWithAck('set', 'c', 3);
  expect(await app.stop()).toBe(0);
  expect(await storedIn(url, key)).toEqual({ a: '1', b: '2', c: '3' });

  const again = await runApp('state.mjs', { env });
  const late = connect(again.url);
  await late.client.emitWithAck('watch', { version: view.version });
  await late.view.shows(({ c }) => c === 3);
  expect(late.view.state).toEqual({ a: 1, b: 2, c: 3 });
  operator.disconnect();
});

test('an ordered stop while Redis is down says what is lost', async () => {
  redis = await RedisProcess.start();
  const app = await runApp('state.mjs', { env: { WORKERS: '1', GJALLAR_REDIS_URL: redis.url } });
  const { client, view } = connect(app.url);
  await client.emitWithAck('watch', {});
  await redis.stop();
  await client.emitWithAck('set', 'a', 1);
  await view.shows(({ a }) => a === 1);
  const problem = 'Redis is unreachable: state rooms are not stored';
  await app.logged(({ msg }) => msg === problem);
  const said: string[] = [];
  const lost = app.logged(({ msg }) => {
    said.push(msg ?? '');
    return msg?.startsWith('state rooms were closed with changes that Redis does not have') ?? false;
  });
  expect(await app.stop()).toBe(0);
  expect(await lost).toMatchObject({ level: 'error', rooms: 1, room: 'quotes', changes: 1 });
  expect(said).not.toContain(`over: ${problem}`);
}, 60_000);

test('without GJALLAR_REDIS_URL and without the option redis, the start says what is missing', async () => {
  await expect(runApp('state.mjs', { env: { WORKERS: '1' } })).rejects.toThrow(/store: "redis" needs a Redis/);
});
