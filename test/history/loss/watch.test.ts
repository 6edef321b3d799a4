import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { FileLossNotices, type LossNotices, NOTICE_MS, RedisLossNotices } from '../../../src/history/loss/notices.js';
import { LossWatch } from '../../../src/history/loss/watch.js';
import { RedisProcess, until } from '../../support/redis.js';

const PROBLEM = 'Redis has lost messages that it had confirmed';

let server: RedisProcess;
let redis: Redis;
let folder: string;
const watches: LossWatch[] = [];

beforeEach(async () => {
  server = await RedisProcess.start();
  redis = new Redis(server.url);
  redis.on('error', () => {});
  folder = await mkdtemp(join(tmpdir(), 'gjallar-loss-'));
});
afterEach(async () => {
  for (const watch of watches.splice(0)) watch.close();
  redis.disconnect();
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

/** The watch of one worker, and what it reports. */
function watchOf(notices: LossNotices) {
  const problems = new Set<string>();
  const lines: string[] = [];
  const note = (_: object, message: string) => void lines.push(message);
  const reports = { log: { error: note, info: note }, problems };
  const watch = new LossWatch({ name: 'Redis', notices, reports });
  watches.push(watch);
  return { watch, problems, lines };
}

describe.each([
  ['in Redis', () => new RedisLossNotices(redis, 'gjallar:loss')],
  ['in a file', () => new FileLossNotices(join(folder, 'loss'))],
])('a loss whose notice is %s', (_where, open) => {
  test('is a problem on all workers until one of them acknowledges it', async () => {
    const [one, other] = [watchOf(open()), watchOf(open())];
    one.watch.report();
    await until(() => other.problems.has(PROBLEM));
    expect(one.problems).toEqual(new Set([PROBLEM]));
    expect(one.watch.found).toBe(1);
    // A worker that starts later.
    const late = watchOf(open());
    await until(() => late.problems.has(PROBLEM));
    await other.watch.acknowledge();
    await until(() => one.problems.size + late.problems.size === 0);
    expect(other.problems.size).toBe(0);
    expect(one.lines).toEqual([PROBLEM, `over: ${PROBLEM}`]);
    // A quiet room shows the same loss later. Another loss is a problem again.
    one.watch.onNewEpoch('lost', Date.now() - 60_000);
    expect(one.problems.size).toBe(0);
    one.watch.onNewEpoch('lost', Date.now() + 1);
    await until(() => other.problems.has(PROBLEM));
  });

  test('is a problem again for messages that came since the last one, whether a worker knows that it was acknowledged or not', async () => {
    const [one, other] = [watchOf(open()), watchOf(open())];
    const now = Date.now();
    one.watch.report(now);
    await until(() => other.problems.has(PROBLEM));
    await other.watch.acknowledge(now + 2000);
    for (const { watch, problems } of [one, other]) {
      watch.onNewEpoch('lost', now + 1000, now + 2001);
      await watch.look(now + 2001);
      expect(problems).toEqual(new Set([PROBLEM]));
    }
  });

  test('ends after an hour', async () => {
    const { watch, problems, lines } = watchOf(open());
    watch.onNewEpoch('uncertain', Date.now());
    expect(problems.size).toBe(0);
    const now = Date.now();
    watch.onNewEpoch('lost', now, now);
    await watch.look(now + NOTICE_MS - 1);
    expect(problems).toEqual(new Set([PROBLEM]));
    await watch.look(now + NOTICE_MS);
    expect(problems.size).toBe(0);
    expect(lines).toEqual([PROBLEM, `over: ${PROBLEM}`]);
    expect([...watch.results]).toEqual([
      ['continued', 0],
      ['uncertain', 1],
      ['lost', 1],
    ]);
  });
});

test('a loss stays a problem although Redis loses the notice too, and many reports are one line', async () => {
  const { watch, problems, lines } = watchOf(new RedisLossNotices(redis, 'gjallar:loss'));
  for (let times = 0; times < 100; times++) watch.onNewEpoch('lost', Date.now());
  await until(async () => (await redis.exists('gjallar:loss')) === 1);
  await redis.del('gjallar:loss');
  await watch.look();
  expect(problems).toEqual(new Set([PROBLEM]));
  expect(lines).toEqual([PROBLEM]);
});
