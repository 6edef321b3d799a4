import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../load/harness/ports.js';

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
  const port = await freePort('127.0.0.1');
  const data = mkdtempSync(join(tmpdir(), 'gjallar-deploy-redis-'));
  const redis = spawn('redis-server', ['--port', String(port), '--save', '', '--dir', data], { stdio: 'ignore' });
  const gone = once(redis, 'close');
  try {
    return await use(`redis://127.0.0.1:${port}`);
  } finally {
    redis.kill();
    await gone;
    rmSync(data, { recursive: true, force: true });
  }
}
