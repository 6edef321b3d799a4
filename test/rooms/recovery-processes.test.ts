import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { endWithFile } from '../support/children.js';
import { until } from '../support/until.js';
import { Wanderer } from './support/recovering.js';

const script = fileURLToPath(new URL('support/recovering-worker.mjs', import.meta.url));

interface Worker {
  readonly url: string;
  readonly process: ChildProcess;
  act(action: string, input?: object): void;
}

let directory: string;
let workers: Map<number, Worker>;
const clients: Wanderer[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gjallar-recovery-'));
  workers = new Map();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const { process } of workers.values()) await kill(process);
  rmSync(directory, { recursive: true, force: true });
});

async function startWorker(id: number): Promise<Worker> {
  const others = [...workers.keys()].map(String);
  const child = endWithFile(fork(script, [directory, String(id), ...others], { execArgv: [] }));
  const [url] = (await once(child, 'message')) as [string];
  const worker = { url, process: child, act: (action: string, input = {}) => child.send({ action, ...input }) };
  workers.set(id, worker);
  return worker;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

async function clientOf(worker: Worker, room: string, transport: 'websocket' | 'polling' = 'websocket') {
  const client = new Wanderer(worker.url, transport);
  clients.push(client);
  await client.connected();
  await client.socket.emitWithAck('join', room);
  await client.heardAll(1);
  return client;
}

const upTo = (number: number, from = 1) => Array.from({ length: number - from + 1 }, (_, at) => from + at);

test('a worker that is killed loses nothing that it has told others', async () => {
  const [first, second, third, fourth] = [
    await startWorker(1),
    await startWorker(2),
    await startWorker(3),
    await startWorker(4),
  ];
  const victims = [await clientOf(first!, 'room'), await clientOf(first!, 'room', 'polling')];
  const witnesses = [await clientOf(second!, 'room'), await clientOf(fourth!, 'room')];
  const [victim] = victims as [Wanderer];
  const { id } = victim.socket;
  first!.act('flood', { room: 'room', sid: id });
  await victim.heardAll(500);
  await witnesses[0]!.heardAll(200);
  const cut = victims.map(({ socket }) => new Promise((resolve) => socket.once('disconnect', resolve)));
  await kill(first!.process);
  workers.delete(1);
  await Promise.all(cut);
  await Promise.all(victims.map((client) => client.comeBack(third!.url)));
  expect(victims.map(({ recovered }) => recovered)).toEqual([[true], [true]]);
  expect(victim.socket.id).toBe(id);
  expect(await victim.socket.emitWithAck('state')).toEqual({
    ...{ worker: '3', recovered: true, rooms: [id, 'room'], data: { joined: 'room' } },
  });
  // Behind everything that the others were told.
  third!.act('emit', { room: 'room', sender: 'fence' });
  for (const client of [...victims, ...witnesses]) await until(() => client.of('fence').length === 1);
  const told = witnesses.map((client) => client.of('1'));
  expect(told[0]).toEqual(upTo(told[0]!.length));
  expect(told[1]).toEqual(told[0]);
  for (const client of victims) {
    const heard = client.of('1');
    expect(heard).toEqual(upTo(heard.length));
    expect(heard.length).toBeGreaterThanOrEqual(told[0]!.length);
  }
  const direct = victim.of('direct');
  expect(direct).toEqual(upTo(direct.length));
  expect(direct.length).toBeGreaterThan(100);
});

test('a client that was away during a whole reload returns to a new worker', async () => {
  const old = [await startWorker(1), await startWorker(2)];
  const away = await clientOf(old[0]!, 'room');
  const stays = [await clientOf(old[0]!, 'room'), await clientOf(old[1]!, 'room', 'polling')];
  const { id } = away.socket;
  await away.cutOff();
  for (const worker of old) worker.act('emit', { room: 'room' });
  await until(() => stays.every((client) => client.heard.length === 3));
  const fresh = [await startWorker(3), await startWorker(4)];
  fresh[0]!.act('emit', { room: 'room' });
  old[1]!.act('emit');
  for (const [at, worker] of old.entries()) {
    const exit = once(worker.process, 'exit');
    const gone = new Promise((resolve) => stays[at]!.socket.once('disconnect', resolve));
    worker.act('close');
    await gone;
    await stays[at]!.comeBack(fresh[at]!.url);
    await exit;
    workers.delete(at + 1);
  }
  fresh[1]!.act('emit', { room: 'room' });
  await away.comeBack(fresh[1]!.url);
  expect([away, ...stays].map(({ recovered }) => recovered)).toEqual([[true], [true], [true]]);
  expect(away.socket.id).toBe(id);
  for (const client of [away, ...stays]) {
    await until(() => client.of('4').length === 1);
    expect([client.of('1'), client.of('2'), client.of('3'), client.of('4')]).toEqual([[1], [1, 2], [1], [1]]);
  }
});
