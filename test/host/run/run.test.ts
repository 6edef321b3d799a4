import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Socket } from 'socket.io-client';
import { sharesPorts } from '../../../src/engine/node/node-net.private.js';
import { answerTo } from '../../io/server/support/requests.js';
import { connect as connectChat, disconnectAll, nextEvent } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import { copyPem } from '../../support/pem.js';
import { freePort } from '../../support/ports.js';
import { readiness } from '../../support/reports.js';
import { runToEnd } from '../../support/server.js';
import { until } from '../../support/until.js';
import { pathOf, type RunningApplication, runApp, stopAll } from './support/application.js';
import '../../support/long.js';
import { temporaryFolder } from '../../support/folder.js';

afterEach(disconnectAll);

/** A real client with its default options, of an application that is not the chat. */
const connect = connectChat as unknown as (...values: Parameters<typeof connectChat>) => Socket;

async function connectMany(url: string, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, (_, index) =>
    connect(url, index % 3 === 0 ? { transports: ['polling'] } : {}),
  );
  await Promise.all(sockets.map((socket) => nextEvent(socket, 'connect')));
  return sockets;
}

const pidsOf = (sockets: Socket[]) =>
  Promise.all(sockets.map((socket) => socket.emitWithAck('pid') as Promise<number>));

/** How many sockets listen on a port of 127.0.0.1. */
function listeningSockets(port: number): number {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  // 0A is LISTEN.
  return lines.filter((line) => line.includes(`: ${local} `) && line.includes(' 0A ')).length;
}

describe('an unmodified application on three workers', () => {
  let port: number;
  let app: RunningApplication;

  beforeAll(async () => {
    port = await freePort();
    // They are invalid, and do not concern other applications.
    const ofTheChat = { HISTORY_TTL: 'mine', PORT: 'pipe', JWT_SECRET: '\u0001' };
    const ofTheApplication = {
      REDIS_URL: 'ioredis://a',
      REDIS_PREFIX: '{bull}',
      NATS_URL: 'nats://a',
      NATS_CREDS: 'b',
    };
    const env = {
      APP_PORT: String(port),
      LOG_LEVEL: 'debug',
      SLOW_MS: '1000',
      DRAIN_TIMEOUT: '2s',
      ...ofTheChat,
      ...ofTheApplication,
    };
    app = await runApp('chat.mjs', { args: ['--workers', '3'], env });
  });
  // Workers that a test has ended have their successors, and its clients are gone.
  beforeEach(() =>
    until(async () => {
      if ((await readiness(app.admin)).state !== 'ready') return false;
      const stats = (await (await fetch(`${app.admin}/api/stats`)).json()) as { namespaces: Record<string, number> };
      return stats.namespaces['/'] === 0;
    }),
  );
  afterAll(stopAll);

  test('keeps another start off its port, and starts with variables of the chat', async () => {
    const refused = await runToEnd(['run', pathOf('chat.mjs')], { WORKERS: '2', APP_PORT: String(port) });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`cannot listen on port ${port}: another program uses it (EADDRINUSE)`);
    expect(app.url).toBe(`http://127.0.0.1:${port}`);
    expect((await fetch(`${app.url}/pid`)).status).toBe(200);
  });

  test('listens in each worker where Node.js can share ports, and in the primary elsewhere', () => {
    expect(listeningSockets(port)).toBe(sharesPorts ? 3 : 1);
  });

  test('has rooms, answers and questions that span the workers', async () => {
    // A line of the log, like all others.
    expect(app.greeting).toMatch(
      /chat\.mjs listens on port \d+ with 3 workers on the embedded bus\. Workers share no memory/,
    );
    const logged = app.logged(({ msg, namespace }) => msg === 'socket connected' && namespace === '/');
    const sockets = await connectMany(app.url, 18);
    const pids = new Set(await pidsOf(sockets));
    expect(pids.size).toBe(3);
    const heard = Promise.all(sockets.map((socket) => nextEvent(socket, 'said')));
    sockets[0]!.emit('say', 'hello');
    expect(await heard).toEqual(sockets.map(() => ['hello']));
    for (const [index, socket] of sockets.entries()) socket.on('question', (answer) => answer(index));
    expect(await sockets[0]!.emitWithAck('count')).toBe(18);
    const answers = (await sockets[0]!.emitWithAck('ask all')) as number[];
    expect(answers.sort((a, b) => a - b)).toEqual(sockets.map((_, index) => index));
    const others = (await sockets[0]!.emitWithAck('shout')) as number[];
    expect(others).toHaveLength(2);
    expect(others.every((pid) => pids.has(pid))).toBe(true);
    await logged;
  });

  test('answers HTTP requests on every worker', async () => {
    const pids = new Set<number>();
    // Each request has a connection of its own, which the kernel gives to any worker.
    while (pids.size < 3) {
      const response = await fetch(`${app.url}/pid`, { headers: { connection: 'close' } });
      pids.add(((await response.json()) as { pid: number }).pid);
    }
  });

  test('a reload replaces all workers, and a request in progress is answered', async () => {
    const sockets = await connectMany(app.url, 6);
    const before = new Set(await pidsOf(sockets));
    const slow = fetch(`${app.url}/slow`).then((response) => response.text());
    await fetch(`${app.url}/pid`);
    const returned = Promise.all(sockets.map((socket) => nextEvent(socket, 'connect')));
    app.process.kill('SIGHUP');
    await app.logged(({ msg }) => msg === 'reload finished');
    await returned;
    expect(await slow).toBe('slow');
    const after = await pidsOf(sockets);
    expect(after.filter((pid) => before.has(pid))).toEqual([]);
    const heard = Promise.all(sockets.map((socket) => nextEvent(socket, 'said')));
    sockets[0]!.emit('say', 'after');
    expect(await heard).toEqual(sockets.map(() => ['after']));
  });

  test('ends and is replaced after an exception, as a process of Node.js does', async () => {
    const [socket] = (await connectMany(app.url, 1)) as [Socket];
    // No other test has it write anything but its log.
    expect(app.output).toEqual([]);
    socket.emit('throw');
    await nextEvent(socket, 'connect');
    await app.said(/the application has thrown/);
  });
});

describe('an unmodified application on two workers', () => {
  afterEach(stopAll);

  test('shares a Unix socket whose path the application gives as text', async () => {
    const folder = temporaryFolder();
    const socketPath = join(folder, 'app.sock');
    const app = await runApp('unix.mjs', { env: { APP_PATH: socketPath, DRAIN_TIMEOUT: '1s' } });
    const get = async (path: string) => (await answerTo(request({ socketPath, path }))).body;
    expect(app.greeting).toMatch(/runs with 2 workers/);
    for (let round = 0; round < 4; round++) {
      expect(await get('/')).toBe(socketPath);
      const { sid } = JSON.parse((await get('/socket.io/?EIO=4&transport=polling')).slice(1));
      // Each request has a connection of its own, so that it may reach the other worker.
      const path = `/socket.io/?EIO=4&transport=polling&sid=${sid}`;
      const sent = request({ socketPath, path, method: 'POST' });
      expect((await answerTo(sent, Buffer.from('40'))).body).toBe('ok');
      expect(await get(path)).toMatch(/^40\{"sid":/);
    }
    expect(await app.stop()).toBe(0);
    expect(existsSync(socketPath)).toBe(false);
  });

  test('has a session of express-session after a move', async () => {
    const app = await runApp('session.cjs', { env: { DRAIN_TIMEOUT: '0' } });
    const sockets = Array.from({ length: 20 }, () => connect(app.url));
    const sessions = await Promise.all(sockets.map((socket) => nextEvent<[string, string]>(socket, 'session')));
    expect(sessions.map(([cookie]) => cookie)).toEqual(sockets.map(() => 'object'));
    expect(new Set(sessions.map(([, id]) => id)).size).toBe(20);
  });

  test('has servers of other kinds, which listen through the primary, and whose clients share rooms', async () => {
    const directory = temporaryFolder();
    const [KEY, CERT] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
    copyPem(KEY, CERT);
    const [secure, plain] = [await freePort(), await freePort()];
    const env = { KEY, CERT, TLS_APP_PORT: String(secure), PLAIN_APP_PORT: String(plain), DRAIN_TIMEOUT: '0' };
    const app = await runApp('secure.mjs', { env });
    expect([...app.ports].sort()).toEqual([secure, plain].sort());
    const url = `https://127.0.0.1:${secure}`;
    const sockets = Array.from({ length: 9 }, () => connect(url, { rejectUnauthorized: false }));
    await Promise.all(sockets.map((socket) => nextEvent(socket, 'connect')));
    const heard = Promise.all(sockets.map((socket) => nextEvent(socket, 'said')));
    sockets[0]!.emit('say', 'secret');
    expect(await heard).toEqual(sockets.map(() => ['secret']));
    const pids = new Set<string>();
    while (pids.size < 2) {
      const response = await fetch(`http://127.0.0.1:${plain}`, { headers: { connection: 'close' } });
      pids.add(await response.text());
    }
  });
});

describe('several Socket.IO servers in one process', () => {
  let app: RunningApplication;
  beforeAll(async () => {
    app = await runApp('two-servers.cjs', { args: ['-w', '3'] });
  });
  afterAll(stopAll);

  test('have a port each, do not hear each other, and ids of the application keep their worker', async () => {
    expect(app.ports).toHaveLength(2);
    const sockets: Socket[][] = [];
    for (const port of app.ports) sockets.push(await connectMany(`http://127.0.0.1:${port}`, 9));
    const said: unknown[][] = [];
    const done = [...sockets[0]!, ...sockets[1]!].map(
      (socket) =>
        new Promise<void>((resolve) =>
          socket.on('said', (...values) => {
            said.push(values);
            if (values[1] === 'last') resolve();
          }),
        ),
    );
    sockets[0]![0]!.emit('say', 'one');
    sockets[0]![0]!.emit('say', 'last');
    sockets[1]![0]!.emit('say', 'last');
    await Promise.all(done);
    const count = (name: string, text: string) => said.filter(([from, what]) => from === name && what === text).length;
    // One of the two servers of the application has its name from the order in which they were created.
    expect([count('first', 'one'), count('second', 'one')]).toEqual([9, 0]);
    expect([count('first', 'last'), count('second', 'last')]).toEqual([9, 9]);
    expect(said).toHaveLength(27);
  });

  test('say which id the session has', async () => {
    const socket = connect(`http://127.0.0.1:${app.ports[1]}`, { transports: ['websocket'] });
    const [name, , id] = await nextEvent<[string, number, string]>(socket, 'welcome');
    expect(name).toBe('second');
    expect(id).toMatch(/^\d+\.own-/);
  });
});

describe('the process of an application', () => {
  let app: RunningApplication;
  beforeAll(async () => {
    app = await runApp('lifecycle.mjs', { args: ['--', 'red', '--blue'] });
  });
  afterAll(stopAll);

  test('gets its arguments, speaks with the parent process, and runs its own code for SIGTERM in the end', async () => {
    const messages: { hello?: number; heard?: string; by?: number }[] = [];
    expect(await (await fetch(app.url)).text()).toBe('red --blue');
    const heard = new Promise<void>((resolve) =>
      app.process.on('message', (message) => {
        messages.push(message as object);
        if (messages.filter(({ heard: text }) => text === 'news').length === 2) resolve();
      }),
    );
    app.process.send('news');
    await heard;
    expect(new Set(messages.filter((one) => one.heard === 'news').map(({ by }) => by)).size).toBe(2);

    expect(await app.stop()).toBe(0);
    const closing = () => app.output.filter((line) => /^closing \d+$/.test(line));
    // What the workers have written may still be on its way when the primary has ended.
    await until(() => closing().length >= 2);
    expect(closing()).toHaveLength(2);
  });
});

test('an application that speaks with its parent process goes on when that listens no more', async () => {
  const app = await runApp('lifecycle.mjs');
  atEnd(stopAll);
  app.process.disconnect();
  // Each new worker says hello.
  const ended = once(app.process, 'exit');
  expect(await Promise.race([app.reload(), ended])).toMatchObject({ msg: 'reload finished', replaced: 2 });
  expect((await fetch(app.url)).status).toBe(200);
  // Node.js does not say that such a child has closed.
  app.process.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test('what a worker has counted stays after a reload, though the application ends the process at SIGTERM', async () => {
  const app = await runApp('lifecycle.mjs', { env: { WORKERS: '1', DRAIN_TIMEOUT: '0' } });
  atEnd(stopAll);
  const [socket] = (await connectMany(app.url, 1)) as [Socket];
  socket.disconnect();
  expect(await app.reload()).toMatchObject({ msg: 'reload finished', replaced: 1 });
  const metrics = await (await fetch(`${app.admin}/metrics`)).text();
  expect(metrics.match(/^gjallar_connections_opened_total.*$/gm)).toEqual([
    'gjallar_connections_opened_total{kind="socketio"} 1',
  ]);
});

test('a program that an application starts uses node:cluster itself, and is no worker of the machine', async () => {
  const directory = temporaryFolder();
  const app = await runApp('parts/nested.mjs', { env: { WORKERS: '1', TMPDIR: directory } });
  atEnd(stopAll);
  expect(await app.said(/^the jobs have ended/)).toBe('the jobs have ended: 0');
  expect(app.output).toContain('a job runs');
  const files = readdirSync(directory, { recursive: true }).map(String);
  expect(files.filter((file) => file.endsWith('1.sock'))).toHaveLength(1);
});

describe('a start that fails', () => {
  const environment = { WORKERS: '2' };

  test('shows why the application cannot start', async () => {
    const { code, stderr } = await runToEnd(['run', pathOf('broken.mjs')], environment);
    expect(code).toBe(1);
    expect(stderr).toContain('the database is unreachable');
    expect(stderr).toMatch(/^gjallar: the application ended with exit code 1 before it listened/m);
  });

  test.each([
    [['run'], /^gjallar: gjallar run needs the file of an application; usage: gjallar run FILE/],
    [['run', 'missing.js'], /^gjallar: cannot find missing\.js; give the file that starts the application$/m],
    [['run', '--many', 'x.js'], /^gjallar: Unknown option '--many'/],
    [['run', pathOf('chat.mjs'), '--workers', '0'], /^gjallar: WORKERS must be an integer from 1 to 256, not "0"$/m],
  ])('says in one line what is wrong with %j', async (args, line) => {
    const { code, stderr } = await runToEnd(args);
    expect(code).toBe(1);
    expect(stderr).toMatch(line);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
