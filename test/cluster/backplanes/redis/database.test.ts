/** `src/cluster/backplanes/redis/client.private.ts`. */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { connectOnce, openRedis, storeOptions } from '../../../../src/cluster/backplanes/redis/connection.js';
import { atEnd } from '../../../support/ends.js';
import { temporaryFolder } from '../../../support/folder.js';
import { RedisProcess } from '../../../support/redis.js';
import { readiness } from '../../../support/reports.js';
import { startSentinel } from '../../../support/sentinel.js';
import { startServer } from '../../../support/server.js';
import { until } from '../../../support/until.js';

let redis: RedisProcess;
let admin: Redis;
beforeAll(async () => {
  redis = await RedisProcess.start();
  admin = new Redis(redis.port, '127.0.0.1');
  await admin.call('ACL', 'SETUSER', 'chat', 'reset', 'on', '>secret', '~*', '&*', '+@all', '-select');
});
afterAll(async () => {
  admin.disconnect();
  await redis.remove();
});

const rejected = 'Redis rejects the database number of its URL (SELECT)';
const outOfRange = 'SELECT 16: ERR DB index is out of range';
const user = () => redis.url.replace('//', '//chat:secret@');

/** The errors of a client, of which the first one fails its connection. */
async function failing(client: Redis) {
  const errors: string[] = [];
  let isReady = false;
  client.on('error', ({ message }) => errors.push(message));
  client.on('ready', () => {
    isReady = true;
  });
  atEnd(() => client.disconnect());
  await until(() => errors.length > 0);
  return { errors, isReady: () => isReady };
}

test.each([
  ['of a bus', () => openRedis(`${redis.url}/16`), outOfRange],
  ['of a store', () => openRedis(`${redis.url}/16`, storeOptions(2000)), outOfRange],
  ['with the older protocol', () => openRedis(`${redis.url}/16?protocol=2`), outOfRange],
  ['for a few commands', () => connectOnce(`${redis.url}?db=16`), outOfRange],
  ['of a user without the right', () => openRedis(`${user()}/2`), /^SELECT 2: NOPERM .*'select'/],
])('a connection %s is none if Redis rejects its database', async (_whose, open, words) => {
  const client = open();
  const commands = client.set('key', 'value').catch(({ message }) => message);
  const { errors, isReady } = await failing(client);
  expect(errors[0]).toEqual(typeof words === 'string' ? words : expect.stringMatching(words));
  expect(await commands).toEqual(expect.stringMatching(/writeable|closed|SELECT/));
  // It is tried again, without the database.
  if (client.options.retryStrategy?.(1)) await until(() => errors.length > 2);
  expect({ isReady: isReady(), keys: await admin.dbsize() }).toEqual({ isReady: false, keys: 0 });
});

test('the database may be one of the master that Sentinel names', async () => {
  const { address } = await startSentinel(temporaryFolder(), redis.port);
  const { errors, isReady } = await failing(openRedis(`redis-sentinel://${address}/chat?db=16`));
  expect([errors[0], isReady()]).toEqual([outOfRange, false]);
  const good = openRedis(`redis-sentinel://${address}/chat?db=15`);
  atEnd(() => good.disconnect());
  await until(() => good.status === 'ready');
});

test('a server of Sentinel that cannot be used is no reason to write to the console', async () => {
  const { address } = await startSentinel(temporaryFolder(), redis.port);
  const spy = jest.spyOn(console, 'error').mockImplementation(() => {});
  const errors: string[] = [];
  // In jest, ioredis does not recognize the errors of sockets as such.
  const other = await startSentinel(temporaryFolder(), redis.port, 1, (port) => [`port ${port}`, 'requirepass secret']);
  const url = `redis-sentinel://${address},${other.address}/chat`;
  const client = openRedis(url, { sentinelReconnectStrategy: () => 20 });
  client.on('error', ({ message }) => errors.push(message));
  atEnd(
    () => spy.mockRestore(),
    () => client.disconnect(),
  );
  // It asks each server once it has a master, and the one that is down again and again.
  let retries = 0;
  client.on('sentinelReconnecting', () => retries++);
  await until(() => retries > 2);
  expect({ errors, console: spy.mock.calls }).toEqual({ errors: [], console: [] });
});

test('a server names the problem, writes nothing, and works when the user may use the database', async () => {
  const server = await startServer({ WORKERS: '1', REDIS_URL: `${user()}/2` });
  const other = await startServer({ WORKERS: '1', REDIS_URL: `${redis.url}/16` });
  atEnd(
    () => server.stop(),
    () => other.stop(),
  );
  const noRight = 'Redis rejects the command SELECT (NOPERM)';
  const endings = ['rooms and sessions do not span machines', 'messages cannot be stored or read'];
  for (const [{ url }, text] of [[server, noRight] as const, [other, rejected] as const]) {
    const expected = endings.map((ending) => `${text}: ${ending}`);
    await until(async () => (await readiness(url)).problems.sort().join() === expected.sort().join());
  }
  await other.logged(({ msg, code }) => msg === `${rejected}: ${endings[0]}` && code === 'REDIS_COMMAND_REJECTED');
  expect(await admin.dbsize()).toBe(0);
  await admin.call('ACL', 'SETUSER', 'chat', '+select');
  await until(async () => (await readiness(server.url)).problems.length === 0);
  expect(await admin.dbsize()).toBe(0);
});
