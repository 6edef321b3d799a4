import { createConnection } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Server as StockServer } from 'socket.io';
import { Adapter } from 'socket.io-adapter';
import * as stockParser from 'socket.io-parser';
import { App, createAdapter, Engine, parser, Server, type Socket } from '../../../src/index.js';
import { closeEngines, listen } from '../../engine/support/engine.js';
import { nextEvent } from '../../support/clients.js';
import { get } from './support/requests.js';
import { classes, client, closeAll, closeLater, run } from './support/servers.js';

afterEach(closeAll);
afterEach(closeEngines);

describe.each(classes)('options of %s', (_name, Class) => {
  test('reach the handshake', async () => {
    const { port } = await run(Class, undefined, {
      path: '/elsewhere/',
      pingInterval: 1234,
      pingTimeout: 567,
      maxHttpBufferSize: 8901,
      cookie: { name: 'sticky' },
      cors: { origin: 'https://example.com', credentials: true },
      allowRequest: (request, done) => done(null, request.headers['x-key'] === 'right'),
    });
    const path = '/elsewhere/?EIO=4&transport=polling';
    const headers = { origin: 'https://example.com', 'x-key': 'right' };
    const answer = await get(port, path, { headers });
    expect(JSON.parse(answer.body.slice(1))).toMatchObject({
      pingInterval: 1234,
      pingTimeout: 567,
      maxPayload: 8901,
      upgrades: ['websocket'],
    });
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': 'https://example.com',
      'access-control-allow-credentials': 'true',
      'set-cookie': [expect.stringContaining('sticky=')],
    });
    expect((await get(port, path)).status).toBe(403);
  });

  test('may come with attach()', async () => {
    const io = closeLater(new Class());
    const { http, port } = await run(Class);
    io.attach(http, { path: '/late', pingInterval: 4321 });
    const { body } = await get(port, '/late/?EIO=4&transport=polling');
    expect(JSON.parse(body.slice(1))).toMatchObject({ pingInterval: 4321 });
  });

  test('may name a class or a factory as the adapter', async () => {
    class Counting extends Adapter {
      static made = 0;
      constructor(nsp: never) {
        super(nsp);
        Counting.made++;
      }
    }
    new Class({ adapter: Counting as never });
    const io = new Class().adapter(Counting as never);
    io.of('/x');
    expect(Counting.made).toBe(3);
    const seen: unknown[] = [];
    function factory(nsp: { name: string }) {
      seen.push(nsp.name);
      return new Adapter(nsp);
    }
    new Class({ adapter: factory as never });
    expect(seen).toEqual(['/']);
  });

  test('serve the files of the client, or do not', async () => {
    const { port } = await run(Class, (_message, response) => response.writeHead(404).end());
    const answer = await get(port, '/socket.io/socket.io.js?x=1');
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/javascript; charset=utf-8']);
    const { port: other } = await run(Class, (_message, response) => response.writeHead(404).end(), {
      serveClient: false,
    });
    expect((await get(other, '/socket.io/socket.io.js')).status).toBe(400);
    expect((await get(other, '/other')).status).toBe(404);
  });

  test('let Socket.IO v2 clients in', async () => {
    const { port } = await run(Class, undefined, { allowEIO3: true });
    expect((await get(port, '/socket.io/?EIO=3&transport=polling')).body).toMatch(/"sid"/);
  });
});

test('the lean parser takes the place of the default one only', () => {
  const own = { ...stockParser };
  expect((new Server() as unknown as { _parser: unknown })._parser).toBe(parser);
  expect((new Server({ parser: own }) as unknown as { _parser: unknown })._parser).toBe(own);
});

test('options that cannot be honoured are named in one warning', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const options = {
    transports: ['polling', 'websocket', 'webtransport'] as never,
    perMessageDeflate: { threshold: 10, serverNoContextTakeover: true } as never,
    wsEngine: class {} as never,
  };
  for (let round = 0; round < 2; round++) await run(Server, undefined, options);
  expect(warn.mock.calls).toEqual([
    [
      'gjallar ignores these options of socket.io: wsEngine, transports: ["webtransport"], ' +
        'perMessageDeflate.serverNoContextTakeover. See docs/compatibility.md of gjallar.',
      { type: 'GjallarWarning', code: 'GJALLAR_OPTION_IGNORED' },
    ],
  ]);
  warn.mockRestore();
});

test.each([
  ['attachApp()', (io: Server, app: ReturnType<typeof App>) => io.attachApp(app)],
  ['attach()', (io: Server, app: ReturnType<typeof App>) => io.attach(app as never)],
])('a uWebSockets.js app is served with %s', async (_how, attach) => {
  const app = App();
  const io = closeLater(new Server());
  attach(io, app);
  io.on('connection', (socket) => socket.emit('hello'));
  const port = await listen(app);
  await nextEvent(client(`http://127.0.0.1:${port}`), 'hello');
  expect((await get(port, '/socket.io/socket.io.js')).status).toBe(200);
});

test('rooms are topics', async () => {
  const { io, url } = await run(Server);
  io.on('connection', (socket) => socket.join('room'));
  const clients = [1, 2, 3, 4].map(() => client(url, { transports: ['websocket'] }));
  await Promise.all(clients.map((one) => nextEvent(one, 'connect')));
  const publish = jest.spyOn((io.engine as unknown as Engine).outbox, 'publish');
  const heard = Promise.all(clients.map((one) => nextEvent(one, 'said')));
  io.to('room').emit('said', 1);
  await heard;
  expect(publish).toHaveBeenCalledTimes(1);
});

test('an adapter of gjallar is taken as it is', async () => {
  const engine = new Engine();
  const adapter = createAdapter(engine);
  const io = new Server({ adapter: adapter as never });
  expect(io.adapter()).toBe(adapter);
});

test('an engine that the application has bound itself is attached', async () => {
  const engine = new Engine();
  const io = new Server({ adapter: createAdapter(engine) as never }).bind(engine as never);
  const { http, url } = await run(Server);
  io.attach(http, { path: '/own' });
  expect(io.engine).toBe(engine);
  io.on('connection', (socket) => socket.emit('hello'));
  await nextEvent(client(url, { path: '/own' }), 'hello');
});

test('options of a Server that a bound engine does not use give a warning', () => {
  const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const same = { cors: { origin: 'https://example.com' }, pingInterval: 1234 };
  for (const options of [same, { connectTimeout: 1000, pingTimeout: 5000 }]) {
    const engine = new Engine(options);
    new Server({ ...options, adapter: createAdapter(engine) as never }).bind(engine as never);
  }
  expect(warn).not.toHaveBeenCalled();
  const engine = new Engine({ pingInterval: 4321 });
  new Server({ ...same, maxHttpBufferSize: 1e6, adapter: createAdapter(engine) as never }).bind(engine as never);
  expect(warn.mock.calls).toEqual([
    [
      expect.stringMatching(/io\.bind\(\).*: cors, pingInterval\./),
      { type: 'GjallarWarning', code: 'GJALLAR_OPTION_IGNORED' },
    ],
  ]);
  warn.mockRestore();
});

test("rooms on socket.io's own engine give a warning, and work", async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const { io, url } = await run(StockServer as unknown as typeof Server, undefined, {
    adapter: createAdapter(new Engine()) as never,
  });
  io.on('connection', (socket) => socket.join('room'));
  const clients = [1, 2, 3, 4].map(() => client(url));
  await Promise.all(clients.map((one) => nextEvent(one, 'connect')));
  const heard = Promise.all(clients.map((one) => nextEvent(one, 'said')));
  io.to('room').emit('said');
  await heard;
  expect(warn.mock.calls).toEqual([
    [expect.stringContaining('io.attach()'), { type: 'GjallarWarning', code: 'GJALLAR_OTHER_ENGINE' }],
  ]);
  warn.mockRestore();
});

test('node:http may keep the port, and does what only it can do', async () => {
  const { io, port, url } = await run(Server, (_message, response) => response.end('fine'), { portOwner: 'node' });
  const socket = createConnection(port, '127.0.0.1');
  socket.write('GET / HTTP/1.0\r\n\r\n');
  let text = '';
  for await (const part of socket) text += part;
  expect(text).toMatch(/200 OK[\s\S]*fine/);
  io.on('connection', (one) => one.join('room'));
  const clients = [['polling'], ['websocket'], ['websocket'], ['polling', 'websocket']].map((transports) =>
    client(url, { transports }),
  );
  await Promise.all(clients.map((one) => nextEvent(one, 'connect')));
  const heard = Promise.all(clients.map((one) => nextEvent(one, 'said')));
  io.to('room').emit('said', 'x');
  await heard;
});

test.each([['polling'], ['websocket']])('socket.request is what applications expect, on %s', async (transport) => {
  const { io, url } = await run(Server);
  const connected = nextEvent<[Socket]>(io, 'connection');
  const one = client(url, { transports: [transport], extraHeaders: { 'x-mine': 'yes' } });
  const [socket] = await connected;
  const { request } = socket;
  expect(request).toMatchObject({ method: 'GET', httpVersion: '1.1', headers: { 'x-mine': 'yes' } });
  expect(request.rawHeaders).toEqual(expect.arrayContaining(['x-mine', 'yes']));
  expect(request.socket.remoteAddress).toBe('127.0.0.1');
  const gone = nextEvent(request, 'close');
  one.disconnect();
  await gone;
});
