import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { atEnd } from '../../support/ends.js';
import { isAlive } from '../../support/process.js';
import { RedisProcess } from '../../support/redis.js';
import { until } from '../../support/until.js';
import { pids, server, start as startOwn } from '../support/own-server.js';
import { readyz } from '../support/visitors.js';

const start = (environment: Record<string, string> = {}) => startOwn({ DRAIN_TIMEOUT: '1s', ...environment });
const over = (replaced: number) =>
  server.logged((line) => line.msg === 'reload finished' && line.replaced === replaced);

describe('SIGHUP', () => {
  test('an old worker that dies before its turn is replaced once', async () => {
    // Its turn does not come before the test has killed it.
    await start({ RELOAD_SETTLE: '3s' });
    const [, second] = await pids(1, 2);
    server.process.kill('SIGHUP');
    await server.logged((line) => line.msg === 'reload started');
    process.kill(second!, 'SIGKILL');
    await over(1);
    await pids(3, 4);
    const began = server.log.filter(({ msg }) => msg === 'listening').map(({ worker }) => worker);
    expect(began.sort()).toEqual([1, 2, 3, 4]);
  });

  test('during a reload is not lost: however many there are, one more reload follows', async () => {
    // The first reload does not end before all signals are sent.
    await start({ RELOAD_SETTLE: '2s' });
    server.process.kill('SIGHUP');
    await server.logged((line) => line.msg === 'reload started');
    for (let n = 0; n < 10; n++) {
      server.process.kill('SIGHUP');
      // Signals that wait for the same process at the same time are one.
      await nextTurn();
    }
    await server.logged((line) => line.msg === 'a reload is already in progress: one more follows it');
    await pids(5, 6);
    const finished = () => server.log.filter((line) => line.msg === 'reload finished');
    await until(() => finished().length === 2);
    expect((await pids(1, 2, 3, 4, 5, 6)).map(isAlive)).toEqual([false, false, false, false, true, true]);
    await server.stop();
    expect(finished().map(({ replaced }) => replaced)).toEqual([2, 2]);
    expect(server.log.filter((line) => line.msg === 'reload started')).toHaveLength(2);
  });
});

test('new workers that are not ready replace none, until they are', async () => {
  const redis = await RedisProcess.start();
  atEnd(() => redis.remove());
  await start({ REDIS_URL: redis.url, BUS: 'embedded', WORKERS: '1' });
  await until(async () => (await readyz(server)).status === 200);
  const [old] = await pids(1);
  await redis.stop();
  server.process.kill('SIGHUP');
  await pids(2);
  // Its check takes a round trip; the next ones come every 200 ms.
  const statuses = new Set();
  await until(async () => statuses.add((await readyz(server)).status).size === 2);
  expect(isAlive(old!)).toBe(true);
  expect(server.log.some((line) => line.msg === 'reload finished')).toBe(false);
  const back = new Date().toISOString();
  await redis.start();
  await over(1);
  const { time } = server.log.find((line) => line.msg === 'reload finished')!;
  expect(String(time) > back).toBe(true);
});

test('SIGUSR2 also holds for a worker that comes later', async () => {
  await start({ WORKERS: '1' });
  server.process.kill('SIGUSR2');
  await server.logged((line) => String(line.msg).startsWith('draining all clients'));
  process.kill(await server.pidOfWorker(1), 'SIGKILL');
  await server.pidOfWorker(2);
  await until(async () => (await readyz(server)).state === 'draining');
});
