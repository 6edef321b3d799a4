import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { nextEvent } from '../../support/clients.js';
import { cleanEnvironment } from '../../support/server.js';
import { applicationWith } from './support/package.js';
import { get } from './support/requests.js';
import { client, closeAll } from './support/servers.js';

const business = `
io.on('connection', (socket) => {
  socket.on('join', (room) => socket.join(room));
  socket.on('say', (room, text) => io.to(room).emit('said', text));
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('message', () => io.close(() => process.disconnect()));
`;
const application = applicationWith({
  'commonjs.cjs': `
const server = require('http').createServer((request, response) => response.end(String(request.headers.cookie?.length)));
const { Server } = require('socket.io');
const io = new Server(server);
${business}`,
  'function.cjs': `
const server = require('http').createServer((request, response) => response.end(String(request.headers.cookie?.length)));
const io = require('socket.io')(server, { connectionStateRecovery: {} });
${business}`,
  'package.json': JSON.stringify({ imports: { '#io': 'realtime' } }),
  'alias.cjs': `
const server = require('http').createServer((request, response) => response.end(String(request.headers.cookie?.length)));
const { Server } = require('realtime');
const io = new Server(server);
${business}`,
  'alias.mjs': `
import { createServer } from 'node:http';
import { Server } from 'realtime';
const server = createServer((request, response) => response.end(String(request.headers.cookie?.length)));
const io = new Server(server);
${business}`,
  'imports.cjs': `
const server = require('http').createServer((request, response) => response.end(String(request.headers.cookie?.length)));
const { Server } = require('#io');
const io = new (class extends Server {})(server);
${business}`,
  'module.mjs': `
import { createServer } from 'node:http';
import { Server } from 'socket.io';
const server = createServer((request, response) => response.end(String(request.headers.cookie?.length)));
const io = new Server(server);
${business}`,
  'require.cjs': `
const server = require('http').createServer((request, response) => response.end(String(request.headers.cookie?.length)));
const { Server } = require('gjallar');
const io = new Server(server);
${business}`,
  'old-way.mjs': `
import { App, createAdapter, Engine, parser, Server, us_socket_local_port } from 'gjallar';
const app = App();
const engine = new Engine();
engine.attach(app);
const io = new Server({ adapter: createAdapter(engine), parser }).bind(engine);
io.on('connection', (socket) => {
  socket.on('join', (room) => socket.join(room));
  socket.on('say', (room, text) => io.to(room).emit('said', text));
});
app.any('/*', (response, request) => response.end(String(request.getHeader('cookie').length)));
app.listen('127.0.0.1', 0, (socket) => process.send(us_socket_local_port(socket)));
process.on('message', () => {
  io.close();
  app.close();
  process.disconnect();
});
`,
  'closed-at-once.mjs': `
import { App, Engine } from 'gjallar';
new Engine().attach(App()).close();
`,
});
let running: ChildProcess | undefined;

afterEach(async () => {
  await closeAll();
  if (running?.exitCode === null) running.kill('SIGKILL');
});

describe.each([
  ['node --import gjallar/register commonjs.cjs', true],
  ['node --import gjallar/register function.cjs', true],
  ['node --import gjallar/register module.mjs', true],
  ['node --import gjallar/register alias.cjs', true],
  ['node --import gjallar/register alias.mjs', true],
  ['node --import gjallar/register imports.cjs', true],
  ['node --import gjallar/register require.cjs', true],
  ['node --import gjallar/register old-way.mjs', true],
  ['node require.cjs', true],
  ['node commonjs.cjs', false],
])('%s', (command, isGjallar) => {
  let port: number;
  let errors = '';

  beforeAll(async () => {
    const [, ...args] = command.split(' ');
    const env = cleanEnvironment();
    const child = spawn(process.execPath, args, {
      cwd: application,
      env,
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    running = child;
    errors = '';
    child.stderr!.on('data', (text) => {
      errors += text;
    });
    [port] = (await once(child, 'message')) as [number];
  });

  test('serves its clients, and ends', async () => {
    const answer = await get(port, '/', { headers: { cookie: 'c'.repeat(12_000) } });
    expect(answer.body).toBe('12000');
    const { headers } = await get(port, '/socket.io/?EIO=4&transport=polling');
    expect(headers['x-content-type-options'] === 'nosniff').toBe(isGjallar);
    const url = `http://127.0.0.1:${port}`;
    const clients = [client(url), client(url, { transports: ['polling'] }), client(url, { transports: ['websocket'] })];
    await Promise.all(clients.map((one) => nextEvent(one, 'connect')));
    for (const one of clients) one.emit('join', 'hall');
    for (const one of clients) await roundTrip(one);
    const heard = Promise.all(clients.map((one) => nextEvent(one, 'said')));
    clients[0]!.emit('say', 'hall', 'Hello!');
    // With connection state recovery, an offset follows.
    expect((await heard).map(([text]) => text)).toEqual(['Hello!', 'Hello!', 'Hello!']);
    const exited = once(running!, 'exit');
    running!.send('end');
    expect(await exited).toEqual([0, null]);
    expect(errors).toBe('');
  });
});

test('an engine that is closed at once does not keep the process running', async () => {
  running = spawn(process.execPath, ['closed-at-once.mjs'], {
    cwd: application,
    env: cleanEnvironment(),
    stdio: 'inherit',
  });
  expect(await once(running, 'exit')).toEqual([0, null]);
});

/** Resolves when what the client has sent so far was taken. */
async function roundTrip(one: ReturnType<typeof client>): Promise<void> {
  const heard = nextEvent(one, 'said');
  one.emit('join', one.id);
  one.emit('say', one.id, 'there');
  await heard;
}
