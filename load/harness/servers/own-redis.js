import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.js';
import { Redis } from './redis.js';

/** Whether there is a redis-server on this machine. */
export function hasRedis() {
  return spawnSync('redis-server', ['--version']).status === 0;
}

/** A Redis for one attack, with a folder of its own. */
export async function startRedis() {
  const directory = mkdtempSync(join(tmpdir(), 'gjallar-attack-'));
  const redis = await Redis.start({ directory, host: '127.0.0.1', port: await freePort('127.0.0.1') });
  return {
    url: redis.url,
    pid: redis.pid,
    directory,
    stop: async () => {
      await redis.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
