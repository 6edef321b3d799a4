// Starts a server program once or several times, with a Redis or NATS of its own between the copies where it needs one. The child
// that does it stays idle: what is measured are the processes it has started.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { familyOf } from '../../harness/process/processes.js';
import { Hosts, removeOrphans, whyNoHosts } from '../../harness/servers/hosts.js';
import { startNats } from '../../harness/servers/nats.js';
import { startProxy } from '../../harness/servers/proxy.js';
import { Redis } from '../../harness/servers/redis.js';
import { addressIn } from '../../harness/service.js';
import { settings, unavailable } from '../support/control.js';

const { host, nodes = 1, bus, proxy, redis = nodes > 1 && bus !== 'nats' } = settings;
/**
 * With `apart`, each node and the broker are on a host of their own, which is a network namespace. The proxy reaches all of
 * them, and the generators reach the proxy.
 */
const hosts = settings.apart ? makeHosts() : undefined;

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
  const common = { PORT: hosts ? '3000' : '0', DATA_DIR: folder, TMPDIR: folder, LOG_LEVEL: 'error', ...env };
  const helpers = {};
  if (redis) {
    const settings = { directory: folder, settings: [], ...broker() };
    const started = await Redis.start(settings).catch(() => undefined);
    if (!started) return unavailable('redis-server is not installed');
    common.REDIS_URL = started.url;
    helpers.redis = started.pid;
  }
  if (bus === 'nats') {
    const started = await startNats(broker()).catch(() => undefined);
    if (!started) return unavailable('nats-server is not installed');
    common.NATS_URL = started.url;
    helpers.nats = started.pid;
  }
  const started = [];
  for (let i = 0; i < nodes; i++) started.push(await startNode(nodeName(i), file, common, args));
  let ports = started.map(({ port }) => port);
  let nodePorts = ports;
  if (proxy) {
    const addresses = ports.map((port, index) => `${hostOf(nodeName(index))}:${port}`);
    const front = await startProxy(folder, host, addresses, proxy, hosts?.namespaceOf('bridge'));
    if (!front) return unavailable('haproxy is not installed');
    children.push(front.child);
    helpers.haproxy = front.child.pid;
    ports = [front.port];
    nodePorts = front.nodePorts ?? nodePorts;
  }
  process.send({
    ready: true,
    ports,
    nodePorts,
    apart: hosts !== undefined,
    pids: started.flatMap(({ pid }) => familyOf(pid)),
    helpers,
    redisUrl: common.REDIS_URL,
  });
}

function nodeName(index) {
  return `node${index + 1}`;
}

/** The hosts of the nodes and the broker; undefined where there can be none. Then all are on this host, as the row says. */
function makeHosts() {
  const reason = whyNoHosts();
  if (reason) return void console.error(`all nodes are on one host: ${reason}`);
  removeOrphans('bench');
  return new Hosts([...Array.from({ length: nodes }, (_, index) => nodeName(index)), 'broker'], undefined, 'bench');
}

function hostOf(name) {
  return hosts?.addressOf(name) ?? host;
}

function launcherOn(name) {
  return hosts?.launcher(name) ?? spawn;
}

async function startNode(name, file, env, args) {
  const flags = settings.nodeFlags ?? [];
  const child = launcherOn(name)(process.execPath, [...flags, file, ...args], {
    env: { ...process.env, HOST: hostOf(name), ...env },
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

/** Where the broker runs. */
const broker = () => ({ host: hostOf('broker'), port: hosts ? 6379 : undefined, launch: launcherOn('broker') });
