import { setTimeout as sleep } from 'node:timers/promises';
import { RedisProcess } from '../../test/support/redis.js';
import { ON_LOOPBACK, RunningService } from '../../test/support/service.js';

export const TIMEOUT_MS = 30_000;

export async function until(what, isTrue) {
  const deadline = Date.now() + TIMEOUT_MS;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(`not within ${TIMEOUT_MS / 1000} s: ${what}`);
    await sleep(100);
  }
}

export const isUp = (url) =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

/** Runs a Redis of its own while `use` runs, which gets its URL. */
export async function withRedis(use) {
  const redis = await RedisProcess.start();
  try {
    return await use(redis.url);
  } finally {
    await redis.remove();
  }
}

/** Starts the service on a free port, with an empty folder for its data. */
export const startService = (env) => new RunningService({ env: { ...env, ...ON_LOOPBACK } }).start();
