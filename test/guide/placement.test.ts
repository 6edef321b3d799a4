import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import type { Socket } from 'socket.io-client';
import { type RunningApplication, runApp, stopAll } from '../run/support/application.js';
import { connect, connected, disconnectAll, upgraded } from '../support/clients.js';
import { freePorts } from '../support/ports.js';
import { runToEnd } from '../support/server.js';
import { until } from '../support/until.js';
import { blockOf } from './support/blocks.js';
import { configurationOf, proxies, startProxy } from './support/placing-proxy.js';

const WORKERS = 2;
const MACHINES = 2;
const KEYS = Array.from({ length: 120 }, (_, index) => `room-${index}`);

afterEach(disconnectAll);
afterAll(stopAll, 60_000);

if (!proxies.envoy) console.warn('Envoy cannot be had here: its configuration is not tested.');

/** The process that the proxy sends a key to. */
async function pidFor(url: string, key: string): Promise<number | undefined> {
  const response = await fetch(`${url}/pid?room=${key}`);
  return response.ok ? ((await response.json()) as { pid: number }).pid : undefined;
}

const pidsFor = (url: string) => Promise.all(KEYS.map((key) => pidFor(url, key)));

describe.each(Object.keys(proxies))('behind %s as doctor configures it', (name) => {
  test('a key has one worker of all machines, and only keys of a machine that is gone move', async () => {
    const machines: RunningApplication[] = [];
    const ranges: string[] = [];
    for (let machine = 0; machine < MACHINES; machine++) {
      const first = await freePorts(WORKERS);
      machines.push(await runApp('chat.mjs', { env: { WORKERS: String(WORKERS), WORKER_PORTS: String(first) } }));
      ranges.push(`127.0.0.1:${first}-${first + WORKERS - 1}`);
    }
    const proxy = await startProxy(
      name,
      await configurationOf([name, '--place', 'room', '--addresses', ranges.join()]),
    );
    try {
      // Envoy sends requests to a worker once it has checked it.
      await until(async () => new Set(await pidsFor(proxy.url)).size === MACHINES * WORKERS);
      const before = await pidsFor(proxy.url);
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
          connect(proxy.url, { query }),
          connect(proxy.url, { query, transports: ['websocket'] }),
          connect(proxy.url, { query, transports: ['polling'] }),
        ];
        await Promise.all([upgraded(clients[0]!), ...clients.slice(1).map(connected)]);
        const pids = await Promise.all(clients.map((client) => (client as Socket).emitWithAck('pid')));
        expect(pids).toEqual(clients.map(() => before[index]));
      }
      const without = connect(proxy.url);
      await upgraded(without);
      disconnectAll();
      await machines[1]!.stop();
      await until(async () => (await pidsFor(proxy.url)).every((pid) => pid !== undefined));
      const after = await pidsFor(proxy.url);
      const left = new Set(after);
      expect(left.size).toBe(WORKERS);
      // A key moves only if its worker is gone.
      const stayed = before.flatMap((pid, index) => (left.has(pid) ? [after[index] === pid] : []));
      // Envoy's Maglev moves a few more.
      const others = stayed.filter((stays) => !stays).length;
      expect(others).toBeLessThanOrEqual(name === 'envoy' ? stayed.length / 10 : 0);
      const moved = after.filter((_, index) => !left.has(before[index]));
      expect(new Set(moved)).toEqual(left);
    } finally {
      disconnectAll();
      await proxy.stop();
    }
  }, 120_000);
});

const deployed = fileURLToPath(new URL('../../deploy', import.meta.url));

test.each([
  ['haproxy/placement.cfg', ['haproxy']],
  ['haproxy/hot-rooms.cfg', ['haproxy', '--place-max', '1000']],
  ['nginx/placement.conf', ['nginx']],
  ['envoy/placement.yaml', ['envoy', '--hash-balance-factor', '150']],
])('deploy/%s is what doctor prints', async (file, args) => {
  const list = ['--place', 'room', '--addresses', 'gjallar-1:3001-3004,gjallar-2:3001-3004'];
  expect(readFileSync(join(deployed, file), 'utf8')).toBe(await configurationOf([...args, ...list]));
});

test('the command of docs/guide/placement.md lists the workers of both machines', async () => {
  const command = blockOf('docs/guide/placement.md', 'npx gjallar doctor').trim();
  const text = await configurationOf(command.replace('npx gjallar doctor --proxy ', '').split(' '));
  const ports = ['3001', '3002', '3003', '3004'];
  expect(text.match(/(?<=^ +server )\S+/gm)).toEqual(
    ['10.0.0.1', '10.0.0.2'].flatMap((host) => ports.map((port) => `${host}:${port}`)),
  );
});

test('the workers of this machine come from the configuration', async () => {
  const text = await configurationOf(['nginx', '--place', 'doc'], { WORKERS: '2', WORKER_PORTS: '4001' });
  expect(text.match(/server 127\S+/g)).toEqual(['server 127.0.0.1:4001', 'server 127.0.0.1:4002']);
  expect(text).toContain('map $arg_doc $gjallar_place');
});

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
  const first = await freePorts(WORKERS);
  const env = { WORKERS: String(WORKERS), WORKER_PORTS: String(first) };
  await runApp('chat.mjs', { env });
  // `/pid` answers 200 as `/readyz` does.
  const text = await configurationOf(['haproxy', '--place', 'room', ...options], env);
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

test('in HAProxy, a worker keeps its id when others come or go', async () => {
  const serversOf = async (addresses: string) => {
    const text = await configurationOf(['haproxy', '--place', 'room', '--addresses', addresses]);
    return text.match(/^ +server .+$/gm)!;
  };
  const all = await serversOf('10.0.0.1:3001-3004,10.0.0.2:3001-3004');
  expect(new Set(all.map((line) => line.split(' id ')[1])).size).toBe(8);
  expect(await serversOf('10.0.0.2:3001-3004')).toEqual(all.slice(4));
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
])('%j is answered with what to do', async (args, message) => {
  const { code, stderr } = await runToEnd(['doctor', '--proxy', ...args]);
  expect(code).toBe(1);
  expect(stderr).toContain(message);
  expect(stderr.trim().split('\n')).toHaveLength(1);
});
