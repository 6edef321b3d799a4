import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Emitter } from '@socket.io/redis-emitter';
import { Redis } from 'ioredis';
import { RedisProcess, until } from '../../../support/redis.js';
import { readiness } from '../../../support/reports.js';
import { startServer } from '../../../support/server.js';

let redis: RedisProcess;

beforeAll(async () => {
  redis = await RedisProcess.start();
});
afterAll(() => redis.remove());

const problemOf = (other: string, own: string) =>
  `servers or emitters on this Redis use BUS=${other}, and this server uses BUS=${own}: they do not hear each other. ` +
  'Set the same BUS on all servers; stock servers and emitters require BUS=redis, and gjallar/emitter works with frames';

test('servers on different wires and emitters are named in the log and in /readyz', async () => {
  const start = (BUS: string) => startServer({ WORKERS: '1', HISTORY_TTL: '0', REDIS_URL: redis.url, BUS });
  const frames = await start('auto');
  const emitting = new Redis(redis.url);
  const servers = [frames];
  try {
    expect(await readiness(frames.url)).toMatchObject({ state: 'ready', problems: [] });
    new Emitter(emitting).to('room').emit('message', 'from an emitter');
    const problem = problemOf('redis', 'redis-frames');
    await frames.logged(({ msg }) => msg === problem);
    expect(await readiness(frames.url)).toMatchObject({ state: 'degraded', problems: [problem] });

    const classic = await start('redis');
    servers.push(classic);
    const other = problemOf('redis-frames', 'redis');
    await classic.logged(({ msg }) => msg === other);
    expect(await readiness(classic.url)).toMatchObject({ state: 'degraded', problems: [other] });
    expect(frames.log.filter(({ msg }) => msg === problem)).toHaveLength(1);
  } finally {
    emitting.disconnect();
    await Promise.all(servers.map((server) => server.stop()));
  }
});

test('servers of an earlier version, whose workers say on the channel of emitters that they are there, are named too', async () => {
  const server = await startServer({ WORKERS: '2', HISTORY_TTL: '0', REDIS_URL: redis.url, REDIS_PREFIX: 'upgraded' });
  const former = new Redis(redis.url);
  try {
    expect(await former.publish('upgraded:frames', 'hello 1.machine0')).toBe(1);
    const problem =
      'servers of an earlier version of gjallar use the same prefix as this server: they do not hear each other. ' +
      'Upgrade all servers of the deployment';
    const line = await server.logged(({ msg }) => msg === problem);
    expect(line).toMatchObject({ level: 'error', code: 'BUS_MISMATCH' });
    await until(async () => (await readiness(server.url)).problems.includes(problem));
  } finally {
    former.disconnect();
    await server.stop();
  }
});
