import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Socket } from 'socket.io-client';
import { GjallarError } from '../../src/errors.js';
import { type RunningApplication, runApp, stopAll } from '../run/support/application.js';
import { connect, connected, disconnectAll, upgraded } from '../support/clients.js';
import { freePorts } from '../support/ports.js';
import { runToEnd } from '../support/server.js';
import { until } from '../support/until.js';
import { blockOf } from './support/blocks.js';
import { configurationOf, proxies, type RunningProxy, startProxy } from './support/placing-proxy.js';

const WORKERS = 2;
const MACHINES = 2;
const KEYS = Array.from({ length: 120 }, (_, index) => `room-${index}`);

const machines: RunningApplication[] = [];
const ports: number[] = [];
const running = new Map<string, RunningProxy>();
/** The worker of each key while all machines run, by the proxy. */
const firstPids = new Map<string, (number | undefined)[]>();

beforeAll(async () => {
  const ranges: string[] = [];
  for (let machine = 0; machine < MACHINES; machine++) {
    const first = await freePorts(WORKERS);
    ports.push(first);
    machines.push(await runApp('chat.mjs', { env: { WORKERS: String(WORKERS), WORKER_PORTS: String(first) } }));
    ranges.push(`127.0.0.1:${first}-${first + WORKERS - 1}`);
  }
  for (const name of Object.keys(proxies)) {
    running.set(name, await startProxy(name, configurationOf([name, '--place', 'room', '--addresses', ranges.join()])));
  }
}, 120_000);
afterEach(disconnectAll);
afterAll(async () => {
  for (const proxy of running.values()) await proxy.stop();
  await stopAll();
});

if (!proxies.envoy) console.warn('Envoy cannot be had here: its configuration is not tested.');

/** The process that the proxy sends a key to. */
async function pidFor(url: string, key: string): Promise<number | undefined> {
  const response = await fetch(`${url}/pid?room=${key}`);
  return response.ok ? ((await response.json()) as { pid: number }).pid : undefined;
}

const pidsFor = (url: string) => Promise.all(KEYS.map((key) => pidFor(url, key)));

test.each(Object.keys(proxies))(
  'behind %s as doctor configures it, a key has one worker of all machines',
  async (name) => {
    const { url } = running.get(name)!;
    // Envoy sends requests to a worker once it has checked it.
    await until(async () => new Set(await pidsFor(url)).size === MACHINES * WORKERS);
    const before = await pidsFor(url);
    firstPids.set(name, before);
    const workers = [...new Set(before)];
    expect(workers).toHaveLength(MACHINES * WORKERS);
    // Evenly enough: each worker has at least a third of its share.
    for (const pid of workers) {
      expect(before.filter((one) => one === pid).length).toBeGreaterThan(KEYS.length / workers.length / 3);
    }
    // Clients of all kinds come to the worker of their key.
    for (const [index, key] of KEYS.slice(0, 4).entries()) {
      const query = { room: key };
      const clients = [
        connect(url, { query }),
        connect(url, { query, transports: ['websocket'] }),
        connect(url, { query, transports: ['polling'] }),
      ];
      await Promise.all([upgraded(clients[0]!), ...clients.slice(1).map(connected)]);
      const pids = await Promise.all(clients.map((client) => (client as Socket).emitWithAck('pid')));
      expect(pids).toEqual(clients.map(() => before[index]));
    }
    const without = connect(url);
    await upgraded(without);
  },
  120_000,
);

test('the workers of this machine are those of gjallar run --place', async () => {
  const { code, stdout } = await runToEnd(['doctor', '--place', 'doc', '--proxy', 'nginx'], { WORKERS: '2' });
  expect(code).toBe(0);
  expect(stdout.match(/server 127\S+/g)).toEqual(['server 127.0.0.1:3001', 'server 127.0.0.1:3002']);
});

test('doctor --help lists the options of --proxy', async () => {
  const { stdout } = await runToEnd(['doctor', '--help']);
  const options = ['proxy', 'place', 'addresses', 'check', 'place-max', 'hash-balance-factor'];
  expect(stdout.match(/(?<=^ {2}--)[\w-]+/gm)).toEqual(options);
});

test('HAProxy accepts health checks and a bound for hot rooms', async () => {
  const options = ['--check', '/readyz', '--hash-balance-factor', '150'];
  const env = { WORKERS: String(WORKERS), WORKER_PORTS: String(ports[0]) };
  // `/pid` answers 200 as `/readyz` does.
  const text = configurationOf(['haproxy', '--place', 'room', ...options], env);
  const proxy = await startProxy('haproxy', text.replace('/readyz', '/pid'));
  try {
    // One room fills both workers.
    const clients = Array.from({ length: 12 }, () =>
      connect(proxy.url, { query: { room: 'hot' }, transports: ['websocket'] }),
    );
    await Promise.all(clients.map(connected));
    const pids = await Promise.all(clients.map((client) => (client as Socket).emitWithAck('pid')));
    const counts = [...new Set(pids)].map((pid) => pids.filter((one) => one === pid).length);
    expect(counts).toHaveLength(WORKERS);
    expect(Math.max(...counts)).toBeLessThanOrEqual(10);
  } finally {
    disconnectAll();
    await proxy.stop();
  }
});

test.each(Object.keys(proxies))(
  'behind %s, only keys of a machine that is gone move',
  async (name) => {
    await machines[1]!.stop();
    const { url } = running.get(name)!;
    const before = firstPids.get(name)!;
    await until(async () => (await pidsFor(url)).every((pid) => pid !== undefined));
    const after = await pidsFor(url);
    const left = new Set(after);
    expect(left.size).toBe(WORKERS);
    // A key moves only if its worker is gone.
    const stayed = before.flatMap((pid, index) => (left.has(pid) ? [after[index] === pid] : []));
    // Envoy's Maglev moves a few more.
    const others = stayed.filter((stays) => !stays).length;
    expect(others).toBeLessThanOrEqual(name === 'envoy' ? stayed.length / 10 : 0);
    const moved = after.filter((_, index) => !left.has(before[index]));
    expect(new Set(moved)).toEqual(left);
  },
  120_000,
);

const deployed = fileURLToPath(new URL('../../deploy', import.meta.url));

test.each([
  ['haproxy/placement.cfg', ['haproxy']],
  ['haproxy/hot-rooms.cfg', ['haproxy', '--place-max', '1000']],
  ['nginx/placement.conf', ['nginx']],
  ['envoy/placement.yaml', ['envoy', '--hash-balance-factor', '150']],
])('deploy/%s is what doctor prints', (file, args) => {
  const list = ['--place', 'room', '--addresses', 'gjallar-1:3001-3004,gjallar-2:3001-3004'];
  expect(readFileSync(join(deployed, file), 'utf8')).toBe(configurationOf([...args, ...list]));
});

test('the command of docs/guide/placement.md lists the workers of both machines', () => {
  const command = blockOf('docs/guide/placement.md', 'npx gjallar doctor').trim();
  const text = configurationOf(command.replace('npx gjallar doctor --proxy ', '').split(' '));
  const ports = ['3001', '3002', '3003', '3004'];
  expect(text.match(/(?<=^ +server )\S+/gm)).toEqual(
    ['10.0.0.1', '10.0.0.2'].flatMap((host) => ports.map((port) => `${host}:${port}`)),
  );
});

test('the workers of this machine come from the configuration', () => {
  const text = configurationOf(['nginx', '--place', 'doc'], { WORKERS: '2', WORKER_PORTS: '4001' });
  expect(text.match(/server 127\S+/g)).toEqual(['server 127.0.0.1:4001', 'server 127.0.0.1:4002']);
  expect(text).toContain('map $arg_doc $gjallar_place');
});

test('in HAProxy, a worker keeps its id when others come or go', () => {
  const serversOf = (addresses: string) => {
    const text = configurationOf(['haproxy', '--place', 'room', '--addresses', addresses]);
    return text.match(/^ +server .+$/gm)!;
  };
  const all = serversOf('10.0.0.1:3001-3004,10.0.0.2:3001-3004');
  expect(new Set(all.map((line) => line.split(' id ')[1])).size).toBe(8);
  expect(serversOf('10.0.0.2:3001-3004')).toEqual(all.slice(4));
});

test('the command prints the configuration, and answers what it cannot use in one line', async () => {
  const args = ['--proxy', 'haproxy', '--place', 'room', '--addresses', 'x:1'];
  expect(await runToEnd(['doctor', ...args])).toEqual({ code: 0, stdout: configurationOf(args.slice(1)), stderr: '' });
  const { code, stdout, stderr } = await runToEnd(['doctor', ...args, '--check', 'x']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toBe('gjallar: --check must be a path, such as /readyz\n');
});

test.each([
  [['apache', '--place', 'room', '--addresses', 'x:1'], 'usage: gjallar doctor --proxy'],
  [['apache'], 'usage: gjallar doctor --proxy'],
  [['haproxy', '--colour'], 'usage: gjallar doctor --proxy'],
  [['haproxy', '--addresses', 'x:1'], '--place must be'],
  [['haproxy', '--place', 'a b', '--addresses', 'x:1'], '--place must be'],
  [['haproxy', '--place', 'room', '--addresses', 'x:3-1'], '--addresses must be'],
  [['haproxy', '--place', 'room', '--addresses', 'x:1,x:1-2'], '--addresses must be'],
  [['haproxy', '--place', 'room', '--addresses', 'x;:1'], '--addresses must be'],
  [['haproxy', '--place', 'room', '--addresses', 'x:1', '--check', 'x'], '--check must be a path'],
  [['haproxy', '--place', 'room', '--addresses', 'x:1', '--hash-balance-factor', '100'], '--hash-balance-factor must'],
  [
    ['nginx', '--place', 'room', '--addresses', 'x:1', '--hash-balance-factor', '150'],
    'leave out --hash-balance-factor',
  ],
  [['nginx', '--place', 'room', '--addresses', 'x:1', '--check', '/readyz'], 'leave out --check'],
  ...['0', '-1', '1.5', '1e3', 'many', '', '10000000'].map((value): [string[], string] => [
    ['haproxy', '--place', 'room', '--addresses', 'x:1', `--place-max=${value}`],
    '--place-max must be an integer from 1 to',
  ]),
  [['haproxy', '--place', 'room', '--addresses', 'x:1', '--place-max'], 'usage: gjallar doctor --proxy'],
  [
    ['nginx', '--place', 'room', '--addresses', 'x:1', '--place-max', '10'],
    'nginx can bound only the first worker of a key',
  ],
  [['envoy', '--place', 'room', '--addresses', 'x:1', '--place-max', '10'], 'Envoy cannot count the clients of a key'],
  [
    ['haproxy', '--place', 'room', '--addresses', 'x:1', '--place-max', '10', '--hash-balance-factor', '150'],
    'leave out --hash-balance-factor or --place-max',
  ],
])('%j is answered with what to do', (args, message) => {
  const ask = () => configurationOf(args);
  expect(ask).toThrow(GjallarError);
  expect(ask).toThrow(message);
  // The command prints it in one line.
  expect(ask).toThrow(/^[^\n]+$/);
});
