import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { runApp, stopAll } from '../host/run/support/application.js';
import { applicationWith } from '../io/server/support/package.js';
import { atEnd } from '../support/ends.js';
import { cleanEnvironment } from '../support/server.js';
import { blockOf, blocksOf } from './support/blocks.js';

const PAGE = 'docs/guide/several-workers.md';
const commands = blocksOf(PAGE).map(({ text }) => text.trim());
const startingWith = (first: string) => commands.filter((text) => text.startsWith(first));

/** Everything that the page warns of. */
const unready = `
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { Server } from 'socket.io';
const users = [];
const logins = new Map();
const http = createServer((request, response) => {
  if (request.url === '/login') {
    const id = String(Math.random());
    logins.set(id, 'ann');
    return response.setHeader('set-cookie', 'id=' + id).end();
  }
  response.end(logins.get(request.headers.cookie?.slice(3)) ?? 'nobody');
});
const io = new Server(http);
io.on('connection', (socket) => {
  users.push(socket.id);
  socket.on('users', (room, reply) => reply(users.length));
  socket.on('whisper', (id, text) => io.sockets.sockets.get(id)?.emit('whisper', text));
});
setInterval(() => writeFile('users.json', JSON.stringify(users)), 60_000).unref();
http.listen(0, '127.0.0.1');
`;

const ready = `
import { createServer } from 'node:http';
import { Server } from 'socket.io';
const http = createServer((request, response) => {
  if (request.url === '/login') return response.setHeader('set-cookie', 'name=ann').end();
  response.end(request.headers.cookie?.slice(5) ?? 'nobody');
});
const io = new Server(http);
io.on('connection', (socket) => {
  socket.on('users', async (room, reply) => reply((await io.fetchSockets()).length));
  socket.on('whisper', (id, text) => io.to(id).emit('whisper', text));
});
http.listen(0, '127.0.0.1');
`;

afterEach(stopAll);

describe.each([
  ['unready', unready, false],
  ['ready', ready, true],
])('an application that is %s', (name, code, isReady) => {
  const place = applicationWith({
    'server.mjs': code,
    'src.js': code,
    'check-workers.mjs': blockOf(PAGE, "import { io } from 'socket.io-client'"),
  });
  const run = (command: string) =>
    new Promise<{ code: number; out: string }>((resolve) => {
      const options = { cwd: place, env: cleanEnvironment(), timeout: 60_000 };
      execFile('sh', ['-c', command], options, (failure, out) => resolve({ code: Number(failure?.code ?? 0), out }));
    });

  test('is found by the checks that need a server, and the ready line names the page', async () => {
    const app = await runApp(join(place, 'server.mjs'));
    expect(app.greeting).toContain(PAGE);
    const [check] = startingWith('node check-workers.mjs') as [string];
    const users = await run(check.replace('http://localhost:3000', app.url));
    expect({ name, code: users.code }).toEqual({ name, code: isReady ? 0 : 1 });
    if (isReady) expect(users.out).toBe('21 clients: 21\n');
    const [login] = startingWith('curl ') as [string];
    const { out } = await run(login.replaceAll('http://localhost:3000', app.url));
    const lines = out.trim().split('\n');
    if (isReady) expect(lines.map((line) => line.trim())).toEqual(['20 ann']);
    else expect(lines.length).toBe(2);
  }, 60_000);

  test('is found by the searches', async () => {
    const searches = startingWith('grep ');
    expect(searches.length).toBe(3);
    for (const search of searches) {
      const { code: status, out } = await run(search);
      expect({ search, status, isFound: out.includes('src.js') }).toEqual({
        search,
        status: isReady ? 1 : 0,
        isFound: !isReady,
      });
    }
  });
});

test('all blocks of the page are run here', () => {
  const known = ['import { io }', 'node check-workers.mjs', 'curl ', 'grep '];
  expect(commands.filter((text) => !known.some((first) => text.startsWith(first)))).toEqual([]);
});

test('one worker is told nothing', async () => {
  const place = applicationWith({ 'server.mjs': ready });
  atEnd(() => stopAll());
  const app = await runApp(join(place, 'server.mjs'), { env: { WORKERS: '1' } });
  expect(app.greeting).not.toContain('docs/');
});
