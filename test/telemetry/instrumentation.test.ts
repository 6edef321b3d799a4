import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import { io } from 'socket.io-client';
import { blockOf } from '../guide/support/blocks.js';
import { applicationWith, root } from '../io/server/support/package.js';
import { own } from '../support/children.js';
import { expectOk, nextEvent } from '../support/clients.js';
import { cleanEnvironment, startServer } from '../support/server.js';
import { until } from '../support/until.js';
import { TelemetryReceiver } from './support/receiver.js';
import '../support/long.js';

const PAGE = 'docs/operations/metrics.md';
const main = join(root, 'dist/main.js');

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const body = `
  const http = createServer();
  const io = new Server(http);
  io.on('connection', (socket) => {
    socket.join('room');
    socket.on('say', (text) => io.to('room').emit('said', text));
  });
  http.on('request', (request, response) => {
    if (!request.url.startsWith('/socket.io/')) response.end('hello');
  });
  http.listen(0, '127.0.0.1', () => console.log('port', http.address().port));
`;
const files = {
  'tracing.mjs': blockOf(PAGE, 'import { register }'),
  'stock.cjs': `const { createServer } = require('node:http'); const { Server } = require('socket.io'); ${body}`,
  'stock.mjs': `import { createServer } from 'node:http'; import { Server } from 'socket.io'; ${body}`,
  'swapped.mjs': `import { createServer } from 'node:http'; import { Server } from 'gjallar'; ${body}`,
};
const commands = blockOf(PAGE, 'export OTEL_EXPORTER_OTLP_ENDPOINT').trim().split('\n');
const [, , register, run, service] = commands as [string, string, string, string, string];

test.each([
  ['with gjallar/register, CommonJS', register.replace('server.js', 'stock.cjs')],
  ['with gjallar/register, ES modules', register.replace('server.js', 'stock.mjs')],
  ['with the library', 'node --import ./tracing.mjs swapped.mjs'],
  ['with gjallar run', run.replace('server.js', 'stock.mjs')],
  ['with gjallar run, CommonJS', run.replace('server.js', 'stock.cjs')],
])(
  'the instrumentations for Socket.IO and HTTP send their spans to a collector: %s',
  async (_name, command) => {
    const receiver = await TelemetryReceiver.start();
    cleanUps.push(() => receiver.stop());
    const folder = applicationWith(files);
    const [, ...args] = command.split(' ').map((word) => (word === 'gjallar' ? main : word));
    const telemetry = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '100' };
    const child = own(
      spawn(process.execPath, args, {
        cwd: folder,
        env: { ...cleanEnvironment(), DRAIN_TIMEOUT: '0', ...telemetry },
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
    const ended = new Promise((resolve) => child.once('exit', resolve));
    cleanUps.push(async () => {
      child.kill('SIGTERM');
      await ended;
    });
    let port = '';
    createInterface(child.stdout!).on('line', (line) => {
      port ||= /^port (\d+)$/.exec(line)?.[1] ?? '';
    });
    await until(() => port !== '');
    const client = io(`http://127.0.0.1:${port}`, { forceNew: true, transports: ['websocket'] });
    cleanUps.push(() => client.disconnect());
    await nextEvent(client, 'connect');
    const said = nextEvent(client, 'said');
    client.emit('say', 'hello');
    expect(await said).toEqual(['hello']);
    expect(await (await fetch(`http://127.0.0.1:${port}/page`)).text()).toBe('hello');
    const events = () => receiver.spans.map(({ attributes }) => attributes['messaging.socket.io.event_name']);
    await until(() => ['connection', 'say', 'said'].every((name) => events().includes(name)));
    const [say, toRoom] = ['say', 'said'].map((name) => receiver.spans[events().indexOf(name)]!);
    // What the application emits while it handles an event belongs to the event's span.
    expect(toRoom).toMatchObject({ name: 'send /', traceId: say!.traceId, parentSpanId: say!.spanId });
    await until(() => receiver.spans.some(({ attributes }) => attributes['http.target'] === '/page'));
    expect(say).toMatchObject({ name: 'receive /', attributes: { 'messaging.system': 'socket.io' } });
  },
  60_000,
);

test('the chat service has spans, too, if OpenTelemetry is loaded into it', async () => {
  const receiver = await TelemetryReceiver.start();
  cleanUps.push(() => receiver.stop());
  const folder = applicationWith(files);
  const options = /^NODE_OPTIONS="(.+)" npx gjallar$/.exec(service)![1]!.replace('$PWD', pathToFileURL(folder).href);
  const server = await startServer({
    NODE_OPTIONS: options,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
  });
  cleanUps.push(() => server.stop());
  const client = io(server.url, { forceNew: true, transports: ['websocket'] });
  cleanUps.push(() => client.disconnect());
  expectOk(await client.emitWithAck('join', 'hall'));
  await until(() => receiver.spans.some(({ attributes }) => attributes['messaging.socket.io.event_name'] === 'join'));
}, 60_000);
