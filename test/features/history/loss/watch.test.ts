import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  FileLossNotices,
  type LossNotices,
  LossWatch,
  NOTICE_MS,
  RedisLossNotices,
} from '../../../../src/features/history/loss/watch.js';
import { temporaryFolder } from '../../../support/folder.js';
import { RedisProcess, until } from '../../../support/redis.js';
import { Reported } from '../../../support/reports.js';

const PROBLEM = 'Redis has lost messages that it had confirmed';

let server: RedisProcess;
let redis: Redis;
let folder: string;
const watches: LossWatch[] = [];

beforeEach(async () => {
  server = await RedisProcess.start();
  redis = new Redis(server.url);
  redis.on('error', () => {});
  folder = temporaryFolder();
});
afterEach(async () => {
  for (const watch of watches.splice(0)) watch.close();
  redis.disconnect();
  await server.remove();
});

/** The watch of one worker, and what it reports. */
function watchOf(notices: LossNotices) {
  const reports = new Reported();
  const watch = new LossWatch({ name: 'Redis', notices, reports });
  watches.push(watch);
  return { watch, reports };
}

describe.each([
  ['in Redis', () => new RedisLossNotices(redis, 'gjallar:loss')],
  ['in a file', () => new FileLossNotices(join(folder, 'loss'))],
])('a loss whose notice is %s', (_where, open) => {
  test('is a problem on all workers until one of them acknowledges it', async () => {
    const [one, other] = [watchOf(open()), watchOf(open())];
    one.watch.report();
    await until(() => other.reports.down.includes(PROBLEM));
    expect(one.reports.down).toEqual([PROBLEM]);
    // A worker that starts later.
    const late = watchOf(open());
    await until(() => late.reports.down.includes(PROBLEM));
    await other.watch.acknowledge();
    await until(() => one.reports.down.length + late.reports.down.length === 0);
    expect(other.reports.down.length).toBe(0);
    expect(one.reports.messages).toEqual([PROBLEM, `over: ${PROBLEM}`]);
    // A quiet room shows the same loss later. Another loss is a problem again.
    one.watch.find(Date.now() - 60_000);
    expect(one.reports.down.length).toBe(0);
    one.watch.find(Date.now() + 1);
    await until(() => other.reports.down.includes(PROBLEM));
  });

  test('is a problem again for messages that came since the last one, whether a worker knows that it was acknowledged or not', async () => {
    const [one, other] = [watchOf(open()), watchOf(open())];
    const now = Date.now();
    one.watch.report(now);
    await until(() => other.reports.down.includes(PROBLEM));
    await other.watch.acknowledge(now + 2000);
    for (const { watch, reports } of [one, other]) {
      watch.find(now + 1000, now + 2001);
      await watch.look(now + 2001);
      expect(reports.down).toEqual([PROBLEM]);
    }
  });

  test('ends after an hour', async () => {
    const { watch, reports } = watchOf(open());
    const now = Date.now();
    watch.find(now, now);
    await watch.look(now + NOTICE_MS - 1);
    expect(reports.down).toEqual([PROBLEM]);
    await watch.look(now + NOTICE_MS);
    expect(reports.down.length).toBe(0);
    expect(reports.messages).toEqual([PROBLEM, `over: ${PROBLEM}`]);
  });
});

test('a loss stays a problem although Redis loses the notice too, and many reports are one line', async () => {
  const { watch, reports } = watchOf(new RedisLossNotices(redis, 'gjallar:loss'));
  for (let times = 0; times < 100; times++) watch.find(Date.now());
  await until(async () => (await redis.exists('gjallar:loss')) === 1);
  await redis.del('gjallar:loss');
  await watch.look();
  expect(reports.down).toEqual([PROBLEM]);
  expect(reports.messages).toEqual([PROBLEM]);
});
