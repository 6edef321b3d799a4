import { afterEach, expect, test } from '@jest/globals';
import { RedisProcess, until } from '../../support/redis.js';
import { runApp, stopAll } from './support/application.js';

let redis: RedisProcess;

afterEach(async () => {
  await stopAll();
  await redis.remove();
});

test('an outage of Redis is one problem, and two lines of each worker, however many servers it has', async () => {
  redis = await RedisProcess.start();
  const app = await runApp('two-servers.cjs', { env: { GJALLAR_REDIS_URL: redis.url } });
  const read = async (path: string) => (await fetch(app.admin + path)).text();
  const problems = async () => JSON.parse(await read('/readyz')).problems as { code: string; remedy: string }[];
  const lines = () =>
    app.log.filter(({ bus }) => bus).map(({ level, worker, code, msg }) => [level, worker, code, msg].join(' '));
  await until(() => lines().length === 2);
  expect(lines().sort()).toEqual(['info 1  the backplane is up', 'info 2  the backplane is up']);

  await redis.stop();
  const text = 'Redis is unreachable: rooms and sessions do not span machines';
  await until(() => lines().length === 4);
  expect(await problems()).toMatchObject([{ code: 'REDIS_UNREACHABLE', text }]);
  const [{ remedy } = { remedy: '' }] = await problems();
  expect(remedy).toContain(' GJALLAR_REDIS_URL ');
  await until(async () =>
    (await read('/metrics')).includes(`gjallar_problem{code="REDIS_UNREACHABLE",text="${text}"} 1`),
  );
  // Each worker counts it once.
  expect(await read('/metrics')).toMatch(/^gjallar_bus_outages_total 2$/m);
  await redis.start();
  await until(async () => (await problems()).length === 0 && lines().length >= 6);
  expect(lines().slice(2).sort()).toEqual([
    ...[1, 2].map((worker) => `error ${worker} REDIS_UNREACHABLE ${text}`),
    ...[1, 2].map((worker) => `info ${worker} REDIS_UNREACHABLE the backplane is up`),
  ]);
}, 60_000);
