import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Socket } from 'socket.io-client';
import { type RunningApplication, runApp, stopAll } from '../host/run/support/application.js';
import { connect, connected, disconnectAll, upgraded } from '../support/clients.js';
import { until } from '../support/until.js';
import { configurationOf, proxies, type RunningProxy, startProxy } from './support/placing-proxy.js';

const MACHINES = 2;
const KEYS = Array.from({ length: 120 }, (_, index) => `room-${index}`);

const machines: RunningApplication[] = [];
/** The file of deploy/ for each proxy. */
const files: Record<string, string> = {
  haproxy: 'haproxy/placement.cfg',
  nginx: 'nginx/placement.conf',
};
const running = new Map<string, RunningProxy>();
/** While a machine is gone: the process of each key when all machines ran, by the proxy. */
const pidsBefore = new Map<string, (number | undefined)[]>();

beforeAll(async () => {
  for (let machine = 0; machine < MACHINES; machine++) machines.push(await runMachine());
  const ports = machines.map(({ port }) => port);
  for (const name of Object.keys(proxies)) {
    running.set(name, await startProxy(name, configurationOf(files[name]!, ports)));
  }
}, 120_000);
afterEach(disconnectAll);
afterAll(async () => {
  for (const proxy of running.values()) await proxy.stop();
  await stopAll();
});

function runMachine(port = 0): Promise<RunningApplication> {
  return runApp('chat.mjs', { env: { WORKERS: '1', PORT: String(port) } });
}

/** The process that the proxy sends a key to. */
async function pidFor(url: string, key: string): Promise<number | undefined> {
  const response = await fetch(`${url}/pid?room=${key}`);
  return response.ok ? ((await response.json()) as { pid: number }).pid : undefined;
}

const pidsFor = (url: string) => Promise.all(KEYS.map((key) => pidFor(url, key)));

/** The process of each key, once the proxy sends keys to all machines. */
async function pidsOfAll(url: string): Promise<(number | undefined)[]> {
  await until(async () => new Set(await pidsFor(url)).size === MACHINES);
  return pidsFor(url);
}

/** Starts the second machine again if a test has stopped it. */
async function withAllMachines(): Promise<void> {
  if (pidsBefore.size === 0) return;
  machines[1] = await runMachine(machines[1]!.port);
  pidsBefore.clear();
}

/** Stops the second machine unless a test has done so, when all proxies send keys to it. */
async function withoutSecondMachine(): Promise<void> {
  if (pidsBefore.size > 0) return;
  const pids = await Promise.all([...running].map(async ([name, { url }]) => [name, await pidsOfAll(url)] as const));
  await machines[1]!.stop();
  for (const [name, before] of pids) pidsBefore.set(name, before);
}

test.each(Object.keys(proxies))(
  'behind %s as deploy/ configures it, a key has one machine',
  async (name) => {
    const { url } = running.get(name)!;
    await withAllMachines();
    const before = await pidsOfAll(url);
    const workers = [...new Set(before)];
    expect(workers).toHaveLength(MACHINES);
    // Evenly enough: each machine has at least a third of its share.
    for (const pid of workers) {
      expect(before.filter((one) => one === pid).length).toBeGreaterThan(KEYS.length / workers.length / 3);
    }
    // Clients of all kinds come to the machine of their key.
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

test.each(Object.keys(proxies))(
  'behind %s, only keys of a machine that is gone move',
  async (name) => {
    await withoutSecondMachine();
    const { url } = running.get(name)!;
    const before = pidsBefore.get(name)!;
    await until(async () => (await pidsFor(url)).every((pid) => pid !== undefined));
    const after = await pidsFor(url);
    const left = new Set(after);
    expect(left.size).toBe(MACHINES - 1);
    // A key moves only if its machine is gone.
    const stayed = before.flatMap((pid, index) => (left.has(pid) ? [after[index] === pid] : []));
    expect(stayed).not.toContain(false);
    const moved = after.filter((_, index) => !left.has(before[index]));
    expect(new Set(moved)).toEqual(left);
  },
  120_000,
);
