import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { own } from '../support/children.js';
import { temporaryFolder } from '../support/folder.js';
import { freePort } from '../support/ports.js';
import { type RunningServer, startServer } from '../support/server.js';
import { pass, until } from '../support/until.js';
import { read } from './support.js';

/** How long the busy server answers nothing, again and again: longer than the interval of the checks. In ms. */
const STALL_MS = 2300;
const STALLS = 4;

let directory: string;
let servers: RunningServer[];
let proxy: ChildProcess;
let url: string;

beforeAll(async () => {
  directory = temporaryFolder();
  servers = await Promise.all([1, 2].map(() => startServer({ WORKERS: '1', TRUST_PROXY: '1' })));
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const pairs = [
    ['global\n', `global\n    stats socket '${directory}/stats' level admin\n`],
    ['bind :80\n', `bind 127.0.0.1:${port}\n`],
    ...servers.map((server, at) => [`gjallar-${at + 1}:3000`, `127.0.0.1:${server.port}`]),
  ];
  const config = pairs.reduce((text, [from, to]) => {
    expect(text).toContain(from);
    return text.replace(from!, to!);
  }, read('deploy/haproxy/haproxy.cfg'));
  writeFileSync(join(directory, 'haproxy.cfg'), config);
  const env = { PATH: `${process.env.PATH}:/usr/sbin` };
  proxy = own(spawn('haproxy', ['-db', '-f', join(directory, 'haproxy.cfg')], { env, stdio: 'ignore' }));
  await until(areUp);
});

afterAll(async () => {
  proxy.kill('SIGKILL');
  if (proxy.exitCode === null && proxy.signalCode === null) await once(proxy, 'exit');
  for (const server of servers) await server.stop();
});

/** What HAProxy says of the two servers: `UP`, or `UP 2/3` after a failed check. */
async function states(): Promise<string[]> {
  const socket = createConnection(join(directory, 'stats'));
  socket.end('show stat\n');
  let text = '';
  for await (const chunk of socket) text += chunk;
  const lines = text.split('\n').filter((line) => line.startsWith('gjallar,') && !line.startsWith('gjallar,BACKEND'));
  return lines.map((line) => line.split(',')[17]!);
}

/** Whether HAProxy runs, and both servers are in use. */
async function areUp(): Promise<boolean> {
  const seen = await states().catch(() => []);
  return seen.length === 2 && seen.every((state) => state === 'UP');
}

/** Stops a worker of the second server for a time. Returns what HAProxy says of the server then. */
async function stall(pid: number): Promise<string> {
  process.kill(pid, 'SIGSTOP');
  await pass(STALL_MS);
  const state = (await states())[1]!;
  process.kill(pid, 'SIGCONT');
  // Each stall is one of its own, on a slow machine too.
  await until(async () => (await states())[1] === 'UP');
  return state.split(' ')[0]!;
}

test('a rolling restart fails no request while the other server is slow to answer', async () => {
  const [restarted, busy] = servers as [RunningServer, RunningServer];
  const pid = await busy.pidOfWorker(1);
  const exit = once(restarted.process, 'exit');
  restarted.process.kill('SIGTERM');
  await exit;
  const answers: number[] = [];
  let isOver = false;
  const client = async () => {
    while (!isOver) answers.push((await fetch(`${url}/readyz`, { headers: { connection: 'close' } })).status);
  };
  const clients = Array.from({ length: 4 }, client);
  const seen: string[] = [];
  for (let count = 0; count < STALLS; count++) seen.push(await stall(pid));
  isOver = true;
  await Promise.all(clients);
  expect(new Set(answers)).toEqual(new Set([200]));
  expect(new Set(seen)).toEqual(new Set(['UP']));

  await restarted.restart();
  await until(areUp);
});
