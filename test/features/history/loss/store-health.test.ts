import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { StoreHealth } from '../../../../src/features/history/loss/store-health.js';
import { Keys } from '../../../../src/features/history/redis/keys.js';
import { RedisHistoryStore } from '../../../../src/features/history/redis/store.js';
import { HistoryError } from '../../../../src/features/history/store.js';
import { RedisProcess } from '../../../support/redis.js';
import { Reported } from '../../../support/reports.js';

let server: RedisProcess;
let store: RedisHistoryStore;
let health: StoreHealth;
let reported: Reported;

beforeEach(async () => {
  reported = Reported.here();
  server = await RedisProcess.start();
  store = await RedisHistoryStore.open({ redis: server.url, timeoutMs: 200 });
  health = new StoreHealth(store, 'Redis');
});
afterEach(async () => {
  health.close();
  await store.close();
  await server.remove();
});

/** The code of the problem after a failed read. */
async function codeOfRead(): Promise<unknown> {
  await expect(health.store.read('/room', { limit: 1 })).rejects.toBeInstanceOf(HistoryError);
  return reported.problems.down.map(({ code }) => code);
}

test('reads that get no answer are those of a Redis that cannot be reached', async () => {
  server.signal('SIGSTOP');
  expect(await codeOfRead()).toEqual(['REDIS_UNREACHABLE']);
  server.signal('SIGCONT');
});

test('the first failure of each kind is seen as an increase', async () => {
  const failures = () => Object.fromEntries(health.readings().gjallar_history_failures_total as [string, number][]);
  const none = { HISTORY_UNAVAILABLE: 0, HISTORY_REFUSED: 0, HISTORY_UNCERTAIN: 0 };
  expect(failures()).toEqual(none);
  server.signal('SIGSTOP');
  await expect(health.store.read('/room', { limit: 1 })).rejects.toBeInstanceOf(HistoryError);
  server.signal('SIGCONT');
  expect(failures()).toEqual({ ...none, HISTORY_UNAVAILABLE: 1 });
});

test('reads that Redis answers with an error are rejected', async () => {
  const admin = new Redis(server.url);
  await admin.set(new Keys('gjallar:').of('/room').meta, 'no hash');
  admin.disconnect();
  expect(await codeOfRead()).toEqual(['REDIS_READS_REJECTED']);
});
