// Starts a server program once or several times, with a Redis or NATS of its own between the copies where it needs one. The child
// that does it stays idle: what is measured are the processes it has started.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { familyOf } from '../../harness/process/processes.js';
import { startNats } from '../../harness/servers/nats.js';
import { Redis } from '../../harness/servers/redis.js';
import { addressIn } from '../../harness/service.js';
import { settings, unavailable } from '../support/control.js';

const { host, nodes = 1, bus, redis = nodes > 1 && bus !== 'nats' } = settings;

const folder = mkdtempSync(join(tmpdir(), 'gjallar-bench-'));
const children = [];
process.on('exit', () => {
  for (const pid of children.flatMap(({ pid }) => familyOf(pid))) kill(pid);
  rmSync(folder, { recursive: true, force: true });
});
process.on('SIGTERM', () => process.exit());

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has gone by itself.
  }
}

/**
 * Runs the program `file` and tells the harness when all copies listen.
 * @param {string} file a program that says `… listens on http://host:port …` on its standard output
 * @param {Record<string, string>} env for the program, beside `HOST`, `PORT`, `DATA_DIR`, `REDIS_URL` and the like
 * @param {string[]} args of the program
 */
export async function runNodes(file, env = {}, args = []) {
  const common = { PORT: '0', DATA_DIR: folder, TMPDIR: folder, LOG_LEVEL: 'error', ...env };
  const helpers = {};
  if (redis) {
    const started = await Redis.start({ directory: folder, settings: [] }).catch(() => undefined);
    if (!started) return unavailable('redis-server is not installed');
    common.REDIS_URL = started.url;
    helpers.redis = started.pid;
  }
  if (bus === 'nats') {
    const started = await startNats().catch(() => undefined);
    if (!started) return unavailable('nats-server is not installed');
    common.NATS_URL = started.url;
    helpers.nats = started.pid;
  }
  const started = [];
  for (let i = 0; i < nodes; i++) started.push(await startNode(file, common, args));
  process.send({
    ready: true,
    ports: started.map(({ port }) => port),
    pids: started.flatMap(({ pid }) => familyOf(pid)),
    helpers,
    redisUrl: common.REDIS_URL,
  });
}

async function startNode(file, env, args) {
  const flags = settings.nodeFlags ?? [];
  const child = spawn(process.execPath, [...flags, file, ...args], {
    env: { ...process.env, HOST: host, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const gone = once(child, 'exit').then(([code]) => Promise.reject(new Error(`${file} ended: exit code ${code}`)));
  const port = await Promise.race([portFrom(child), gone]);
  gone.catch((error) => {
    console.error(error.message);
    process.exit(1);
  });
  return { port, pid: child.pid };
}

function portFrom(child) {
  return new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const address = addressIn(line);
      if (address) resolve(address.port);
      else console.error(line);
    });
  });
}
