// Starts a server program once or several times, with a Redis or NATS of its own between the copies where it needs one. The child
// that does it stays idle: what is measured are the processes it has started.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { familyOf } from '../harness/processes.js';
import { addressIn } from '../harness/service.js';
import { settings, unavailable } from './control.js';
import { freePort } from './free-port.js';
import { startProxy } from './proxy.js';

const { host, nodes = 1, bus, proxy, redis = nodes > 1 && bus !== 'nats' } = settings;

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
  const common = { HOST: host, PORT: '0', DATA_DIR: folder, TMPDIR: folder, LOG_LEVEL: 'error', ...env };
  const helpers = {};
  if (redis) {
    const { port, pid } = await startBroker('redis-server', '--bind', host, '--save', '', '--dir', folder);
    if (!port) return unavailable('redis-server is not installed');
    common.REDIS_URL = `redis://${host}:${port}`;
    helpers.redis = pid;
  }
  if (bus === 'nats') {
    const { port, pid } = await startBroker('nats-server', '--addr', host);
    if (!port) return unavailable('nats-server is not installed');
    common.NATS_URL = `nats://${host}:${port}`;
    helpers.nats = pid;
  }
  const started = [];
  for (let i = 0; i < nodes; i++) started.push(await startNode(file, common, args));
  let ports = started.map(({ port }) => port);
  if (proxy) {
    const front = await startProxy(folder, host, ports, proxy);
    if (!front) return unavailable('haproxy is not installed');
    children.push(front.child);
    helpers.haproxy = front.child.pid;
    ports = [front.port];
  }
  process.send({
    ready: true,
    ports,
    nodePorts: started.map(({ port }) => port),
    pids: started.flatMap(({ pid }) => familyOf(pid)),
    helpers,
    redisUrl: common.REDIS_URL,
  });
}

async function startNode(file, env, args) {
  const flags = settings.nodeFlags ?? [];
  const child = spawn(process.execPath, [...flags, file, ...args], {
    env: { ...process.env, ...env },
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

/** @returns {Promise<{ port?: number, pid?: number }>} nothing where the program is not installed */
async function startBroker(name, ...args) {
  const port = await freePort(host);
  // Debian installs nats-server where an account that is not root often does not look.
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
  const child = spawn(name, ['--port', port, ...args], { stdio: 'ignore', env });
  const missing = await Promise.race([once(child, 'error').then(() => true), once(child, 'spawn').then(() => false)]);
  if (missing) return {};
  children.push(child);
  while (!(await answers(port))) await sleep(50);
  return { port, pid: child.pid };
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
