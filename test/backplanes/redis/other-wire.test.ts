import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Emitter } from '@socket.io/redis-emitter';
import { Redis } from 'ioredis';
import { RedisProcess } from '../../support/redis.js';
import { readiness } from '../../support/reports.js';
import { startServer } from '../../support/server.js';

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
