/**
 * Exercises the files of deploy/: npm run deploy:check [name …]. Each proxy stands in front of two real servers on one Redis.
 * Clients of every kind talk through it; then the server that has the clients is drained. No request may fail meanwhile,
 * and the clients must talk again on the other server. A program that is not installed is reported, and fails the check.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { io } from 'socket.io-client';
import { freePort } from '../../test/support/ports.js';
import { grafana } from './grafana.mjs';
import { image } from './image.mjs';
import { compose, helm, kubernetes } from './manifests.mjs';
import { proxies } from './proxies.mjs';
import { isUp, startService, TIMEOUT_MS, until, withRedis } from './support.mjs';

const admin = { Authorization: `Basic ${btoa('ops:password')}` };

/** The clients on a server, by its metrics. */
async function clientsOf({ url }) {
  const text = await (await fetch(`${url}/metrics`, { headers: admin })).text();
  return [...text.matchAll(/^gjallar_clients\{.*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Each client posts once, and all of them must hear each of the messages. */
async function talk(clients, round) {
  const heard = clients.map((client) => {
    const texts = new Set();
    client.on('message', ({ text }) => texts.add(text));
    return texts;
  });
  for (const [index, client] of clients.entries()) {
    await until(`client ${index} is connected`, () => client.connected);
    const joined = await client.timeout(TIMEOUT_MS).emitWithAck('join', 'hall');
    if (!joined.ok) throw new Error(`client ${index} cannot join: ${joined.code}`);
  }
  const texts = clients.map((_, index) => `round ${round}, client ${index}`);
  for (const [index, client] of clients.entries()) {
    const reply = await client.timeout(TIMEOUT_MS).emitWithAck('message', { room: 'hall', text: texts[index] });
    if (!reply.ok) throw new Error(`client ${index} cannot post: ${reply.code}`);
  }
  await until(`everyone hears round ${round}`, () => heard.every((own) => texts.every((text) => own.has(text))));
  for (const client of clients) client.off('message');
}

/** Sends requests, some at a time, until it is stopped. */
function keepAsking(url) {
  const result = { requests: 0, failed: [] };
  let isOver = false;
  const workers = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      result.requests++;
      try {
        const response = await fetch(`${url}/api/openapi.json`, { signal: AbortSignal.timeout(10_000) });
        await response.arrayBuffer();
        if (response.status !== 200) result.failed.push(response.status);
      } catch (error) {
        result.failed.push(String(error.cause ?? error));
      }
      await sleep(20);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(workers);
    return result;
  };
}

async function checkProxy(name, servers) {
  const proxy = proxies[name];
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-deploy-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const ports = servers.map((server) => server.port);
  proxy.files(folder, ports, port);
  const [program, ...args] = proxy.command(folder);
  const path = `${process.env.PATH}:/usr/sbin:/sbin`;
  const env = { PATH: path, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const ended = once(child, 'close').catch((error) => {
    said += `${error.message}: install it, such as with apt-get install ${name}`;
  });
  const clients = [];
  try {
    await Promise.race([
      until(`${name} answers`, () => isUp(`${url}/healthz`)),
      ended.then(() => Promise.reject(new Error(`${name} ended: ${said}`))),
    ]);
    const options = { forceNew: true, withCredentials: true, reconnectionDelayMax: 1000 };
    clients.push(
      io(url, options),
      io(url, options),
      io(url, { ...options, transports: ['websocket'] }),
      io(url, { ...options, transports: ['polling'] }),
    );
    await talk(clients, 1);
    await until('default clients change to WebSocket', () => clients[0].io.engine.transport.name === 'websocket');

    const counts = await Promise.all(servers.map(clientsOf));
    const [busy, other] = counts[0] >= counts[1] ? servers : [...servers].reverse();
    const stop = keepAsking(url);
    proxy.takeOut?.(folder, ports, port, busy.port, child);
    await fetch(`${busy.url}/api/drain`, { method: 'POST', headers: admin });
    await until('all clients are on the other server', async () => (await clientsOf(other)) === clients.length);
    await talk(clients, 2);
    const { requests, failed } = await stop();
    if (failed.length > 0) throw new Error(`${failed.length} of ${requests} requests failed: ${failed.slice(0, 5)}`);
    console.log(`${name}: ok; ${requests} requests during the drain, 0 failed`);
    return true;
  } catch (error) {
    console.log(`${name}: FAILED: ${error.message}\n${said.slice(-2000)}`);
    return false;
  } finally {
    for (const client of clients) client.disconnect();
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

function checkProxies(names) {
  return withRedis(async (REDIS_URL) => {
    let isGood = true;
    for (const name of names) {
      const { PATH, HOME } = process.env;
      const env = {
        ...{ PATH, HOME, WORKERS: '2', TRUST_PROXY: '1', REDIS_URL, DRAIN_TIMEOUT: '2s' },
        ...{ ADMIN_USER: 'ops', ADMIN_PASSWORD: 'password', RATE_LIMIT: 'off' },
      };
      const servers = await Promise.all([1, 2].map(() => startService(env)));
      try {
        isGood = (await checkProxy(name, servers)) && isGood;
      } finally {
        await Promise.all(servers.map((server) => server.stop()));
      }
    }
    return isGood;
  });
}

const deploy = fileURLToPath(new URL('..', import.meta.url));

/** Checks that need no proxy. */
const commands = {
  prometheus: () => {
    const options = { cwd: join(deploy, 'prometheus'), stdio: 'pipe' };
    execFileSync('promtool', ['check', 'config', 'prometheus.yml'], options);
    execFileSync('promtool', ['test', 'rules', 'alerts.test.yml'], options);
    execFileSync('amtool', ['check-config', 'alertmanager.yml'], options);
    const alerts = readFileSync(join(deploy, 'prometheus', 'alerts.yml'), 'utf8').match(/- alert:/g).length;
    return `${alerts} alerts fire`;
  },
  systemd: () => {
    const unit = join(deploy, 'systemd', 'gjallar.service');
    const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=yes', unit], { encoding: 'utf8' });
    const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1]);
    if (!(exposure <= 4)) throw new Error(`the exposure level is ${exposure}`);
    return `the exposure level is ${exposure}`;
  },
  ...{ image, compose, kubernetes, helm, grafana },
};

async function checkCommand(name) {
  try {
    console.log(`${name}: ok; ${await commands[name]()}`);
    return true;
  } catch (error) {
    console.log(`${name}: FAILED: ${error.message}\n${error.stdout ?? ''}${error.stderr ?? ''}`);
    return false;
  }
}

const asked = process.argv.slice(2);
const known = [...Object.keys(commands), ...Object.keys(proxies)];
const unknown = asked.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ')}; there are ${known.join(', ')}`);
  process.exit(2);
}
const chosen = (names) => names.filter((name) => asked.length === 0 || asked.includes(name));
const results = [];
for (const name of chosen(Object.keys(commands))) results.push(await checkCommand(name));
const chosenProxies = chosen(Object.keys(proxies));
if (chosenProxies.length > 0) results.push(await checkProxies(chosenProxies));
process.exit(results.every(Boolean) ? 0 : 1);
