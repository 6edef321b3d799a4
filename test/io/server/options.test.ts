import { constants } from 'node:buffer';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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
  test('keep servers on two paths of an http.Server apart', async () => {
    const { http, io: one, url } = await run(Class);
    const other = closeLater(new Class(http, { path: '/other' }));
    for (const io of [one, other]) io.on('connection', (socket) => socket.join('room'));
    const heard = await Promise.all(
      ['/socket.io', '/socket.io', '/socket.io', '/other', '/other', '/other'].map(async (path) => {
        const socket = client(url, { path, transports: ['websocket'] });
        const events: string[] = [];
        socket.onAny((event) => events.push(event));
        await nextEvent(socket, 'connect');
        return { events, end: nextEvent(socket, 'end') };
      }),
    );
    one.to('room').emit('room of one');
    other.to('room').emit('room of other');
    one.emit('one');
    other.emit('other');
    for (const io of [one, other]) io.emit('end');
    await Promise.all(heard.map(({ end }) => end));
    expect(heard.map(({ events }) => events)).toEqual(
      ['one', 'one', 'one', 'other', 'other', 'other'].map((name) => [`room of ${name}`, name, 'end']),
    );
  });

  test('show the engine to each connection, and let middleware end a response with a callback', async () => {
    const { io, port, url } = await run(Class);
    const users = new Promise((resolve) => {
      io.on('connection', ({ conn }) => resolve((conn as unknown as { server: Engine }).server.clientsCount));
    });
    client(url);
    expect(await users).toBe(1);
    const ended = new Promise<void>((resolve) => {
      io.engine.use((_request: unknown, response: { statusCode: number; end(done: () => void): void }) => {
        response.statusCode = 401;
        response.end(resolve);
      });
    });
    expect(await get(port, '/socket.io/?EIO=4&transport=polling')).toMatchObject({ status: 401, body: '' });
    await ended;
  });

  test('may be without a server: the application hands requests and upgrades over', async () => {
    const { io } = await run(Class);
    const http = closeLater(createServer((message, response) => io.engine.handleRequest(message as never, response)));
    http.on('upgrade', (message, socket, head) => io.engine.handleUpgrade(message as never, socket, head));
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    io.on('connection', (socket) => socket.on('echo', (value, reply) => reply(value)));
    const one = client(`http://127.0.0.1:${(http.address() as AddressInfo).port}`, { path: '/any/' });
    await nextEvent(one, 'connect');
    if (one.io.engine.transport.name === 'polling') await nextEvent(one.io.engine as never, 'upgrade');
    expect(await one.emitWithAck('echo', 'x')).toBe('x');
    const heard = nextEvent(one, 'all');
    io.emit('all');
    await heard;
  });

  test('keep the connection of a client that enters, leaves and enters a further namespace at once', async () => {
    const { io, url } = await run(Class);
    for (const namespace of [io.sockets, io.of('/chat')]) {
      namespace.on('connection', (socket) => {
        socket.on('echo', (value, reply) => reply(value));
        socket.on('end', () => socket.disconnect());
      });
    }
    const main = client(url, { transports: ['websocket'] });
    await nextEvent(main, 'connect');
    const { id } = main.io.engine;
    const chat = main.io.socket('/chat');
    for (let round = 0; round < 5; round++) {
      chat.connect();
      chat.disconnect();
      chat.connect();
      expect(await chat.emitWithAck('echo', round)).toBe(round);
      chat.disconnect();
      await main.emitWithAck('echo', 'has left');
      chat.connect();
      expect(await chat.emitWithAck('echo', round)).toBe(round);
      const ended = nextEvent(chat, 'disconnect');
      chat.emit('end');
      await ended;
    }
    expect([main.connected, main.io.engine.id]).toEqual([true, id]);
  });

  test.each([
    ['br', 'br'],
    ['gzip;q=0, br', 'br'],
    ['gzip, deflate, br', 'gzip'],
    ['deflate', 'deflate'],
    ['identity', undefined],
  ])('send the client in the coding that it accepts: %s', async (accepted, coding) => {
    const { port } = await run(Class);
    const { status, headers } = await get(port, '/socket.io/socket.io.js', {
      headers: { 'accept-encoding': accepted },
    });
    expect([status, headers['content-encoding']]).toEqual([200, coding]);
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
    ...{ httpRequestBodyTimeout: 5000, maxBufferedChunks: 100 },
  };
  for (let round = 0; round < 2; round++) await run(Server, undefined, options);
  expect(warn.mock.calls).toEqual([
    [
      'gjallar ignores these options of socket.io: wsEngine, httpRequestBodyTimeout, maxBufferedChunks, ' +
        'transports: ["webtransport"], perMessageDeflate.serverNoContextTakeover. See docs/compatibility.md in the repository of gjallar.',
      { type: 'GjallarWarning', code: 'GJALLAR_OPTION_IGNORED' },
    ],
  ]);
  warn.mockRestore();
});

describe('an option that is wrong', () => {
  test.each<[object, string]>([
    [{ pingInterval: 'soon' }, "pingInterval of Server must be a number from 1 to 1073741824 (ms), not 'soon'."],
    [
      { transports: ['pigeon'] },
      'transports of Server must be "polling", "websocket" or a list of both, not this list.',
    ],
    [{ rateLimit: { message: { amount: 1, per: 1 } } }, 'rateLimit of Server must be off, or a list'],
    [{ connectionStateRecovery: { maxDisconnectionDuration: '2m' } }, 'connectionStateRecovery of Server must be'],
  ])('is told at once: %j', (options, reason) => {
    const error = expect.objectContaining({ code: 'BAD_INPUT', message: expect.stringContaining(reason) });
    expect(() => new Server(options)).toThrow(error as never);
  });

  test.each<[object, object]>([
    [
      { pingInterval: '10000', maxHttpBufferSize: ' 2000 ' },
      { pingInterval: 10_000, maxHttpBufferSize: 2000 },
    ],
    [{ maxHttpBufferSize: '1e8' }, { maxHttpBufferSize: 1e8 }],
    [{ transports: 'websocket' }, { transports: ['websocket'] }],
    [{ transports: 'websocket, polling' }, { transports: ['polling', 'websocket'] }],
    [
      { allowUpgrades: 'false', pingTimeout: null },
      { allowUpgrades: false, pingTimeout: 20_000 },
    ],
    [{ origins: '*:*' }, { origins: ['*'] }],
    [{ rateLimit: 'events=50/s' }, { rateLimit: { events: { amount: 50, per: 1000 } } }],
    [{ maxHttpBufferSize: Number.POSITIVE_INFINITY }, { maxHttpBufferSize: constants.MAX_STRING_LENGTH }],
    [
      { allowedHosts: ['Example.com'], cookie: true },
      { allowedHosts: ['example.com'], cookie: { name: 'io' } },
    ],
  ])('is converted where the meaning is plain: %j', async (options, settings) => {
    const { io } = await run(Server, undefined, options);
    expect((io.engine as unknown as Engine).settings).toMatchObject(settings);
  });
});

test('Server knows each option that the installed engine.io has by default', () => {
  const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const { engine } = closeLater(new StockServer(createServer()));
  new Server((engine as unknown as { opts: object }).opts);
  expect(warn.mock.calls.flat()).not.toContainEqual(expect.objectContaining({ code: 'GJALLAR_OPTION_UNKNOWN' }));
  warn.mockRestore();
});

test('a WebSocket connects without a limit of its messages', async () => {
  const { io, url } = await run(Server, undefined, { maxHttpBufferSize: Number.POSITIVE_INFINITY });
  io.on('connection', (socket) => socket.emit('hello'));
  await nextEvent(client(url, { transports: ['websocket'] }), 'hello');
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

test('what only `ws` has is undefined, and one warning says so', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const { io, url } = await run(Server);
  const connected = nextEvent<[Socket]>(io, 'connection');
  client(url, { transports: ['websocket'] });
  const [{ conn }] = await connected;
  for (let round = 0; round < 2; round++) {
    expect([(io.engine as unknown as { ws?: unknown }).ws, (conn.transport as { socket?: unknown }).socket]).toEqual([
      undefined,
      undefined,
    ]);
  }
  expect(warn.mock.calls.map(([text]) => String(text).split(' ', 1)[0])).toEqual([
    'io.engine.ws',
    'socket.conn.transport.socket',
  ]);
  warn.mockRestore();
});

test('two servers on one path of an http.Server are rejected', async () => {
  const { http, io } = await run(Server);
  expect(() => new Server(http)).toThrow('two Socket.IO servers are on the path /socket.io');
  expect(() => io.attach(http)).not.toThrow();
  closeLater(new Server(http, { path: '/other' }));
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
  for (const options of [same, { pingTimeout: 5000 }]) {
    const engine = new Engine(options);
    new Server({ connectTimeout: 1000, ...options, adapter: createAdapter(engine) as never }).bind(engine as never);
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
    [expect.stringContaining('an Engine of gjallar'), { type: 'GjallarWarning', code: 'GJALLAR_OTHER_ENGINE' }],
  ]);
  warn.mockRestore();
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
  expect(request).toMatchObject({ httpVersionMajor: 1, httpVersionMinor: 1, headersDistinct: { 'x-mine': ['yes'] } });
  expect((request as unknown as { client: { _peername: object } }).client._peername).toMatchObject({
    address: '127.0.0.1',
    family: 'IPv4',
  });
  const gone = nextEvent(request, 'close');
  one.disconnect();
  await gone;
});
