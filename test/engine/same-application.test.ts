import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { ServerOptions } from 'socket.io';
import { io as connect, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client';
import { nextEvent } from '../support/clients.js';
import { temporaryFolder } from '../support/folder.js';
import { copyPem } from '../support/pem.js';
import { until } from '../support/until.js';
import { type Serve, type Served, serveDropIn, serveGjallar, serveStock, type Tls } from './support/application.js';
import { closeEngines } from './support/engine.js';
import { type Seen, wholeApplication } from './support/whole-application.js';

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  closeEngines();
});

/** Runs the scenario on stock socket.io and on gjallar, and expects equal results. */
async function expectSame(
  scenario: (served: Served, seen: Seen) => Promise<unknown>,
  options: Partial<ServerOptions> = {},
  tls?: Tls,
): Promise<void> {
  const run = async (serve: Serve) => {
    const seen: Seen = [];
    const served = await serve((io) => wholeApplication(io, seen), options, tls);
    open.push(served);
    return { result: await scenario(served, seen), seen };
  };
  const stock = await run(serveStock);
  expect(stock.result).toBeDefined();
  expect(await run(serveGjallar)).toEqual(stock);
  expect(await run(serveDropIn)).toEqual(stock);
}

function client({ url }: Served, options: Partial<ManagerOptions & SocketOptions> = {}, namespace = '/'): Socket {
  const socket = connect(url + namespace, {
    forceNew: true,
    reconnection: false,
    rejectUnauthorized: false,
    ...options,
  });
  open.push(socket);
  return socket;
}

async function upgraded(socket: Socket): Promise<void> {
  await nextEvent(socket, 'connect');
  if (socket.io.engine.transport.name !== 'websocket') await nextEvent(socket.io.engine, 'upgrade');
}

/** Status, body and headers of a response, without what belongs to the HTTP server or differs each time. */
async function request(url: string, init: RequestInit = {}): Promise<unknown> {
  const response = await fetch(url, init);
  const ofServer = ['date', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'uwebsockets'];
  const headers = [...response.headers]
    .filter(([name]) => !ofServer.includes(name))
    .map(([name, value]) => [name, value.replace(/session=[^;]+/, 'session=…')]);
  return { status: response.status, body: await response.text(), headers: headers.sort() };
}

const transports = [['polling'], ['websocket']] as ('polling' | 'websocket')[][];

describe('one application on stock socket.io and on gjallar', () => {
  test.each(transports)('sees the same client, on %s', async (transport) => {
    await expectSame(async (served) => {
      const socket = client(served, {
        transports: [transport],
        auth: { token: 'right' },
        query: { from: 'test', list: ['1', '2'] },
        extraHeaders: { 'x-custom': 'välue'.normalize('NFD').slice(0, 1), cookie: 'a=1; b=2', 'user-agent': 'test' },
      });
      await nextEvent(socket, 'connect');
      const handshake = await socket.emitWithAck('handshake');
      delete handshake.query.t;
      return [handshake, await socket.emitWithAck('conn'), await socket.emitWithAck('conn')];
    });
  });

  test('sees the same upgrade, and the same events of the connection', async () => {
    await expectSame(async (served, seen) => {
      const socket = client(served);
      await upgraded(socket);
      const conn = await socket.emitWithAck('conn');
      const events = (await socket.emitWithAck('events')) as string[];
      socket.disconnect();
      await until(() => seen.some(([what]) => what === 'conn closed'));
      return [conn, [...new Set(events)].sort()];
    });
  });

  test.each(transports)('exchanges the same messages, on %s', async (transport) => {
    const compression = { perMessageDeflate: { threshold: 100 }, httpCompression: { threshold: 100 } };
    await expectSame(async (served) => {
      const [one, two] = [client(served, { transports: [transport] }), client(served)];
      await Promise.all([nextEvent(one, 'connect'), nextEvent(two, 'connect')]);
      const bytes = Buffer.from([0, 255, 128]);
      const echo = await one.emitWithAck('echo', 'ünïcödé ✓', { bytes, deep: [{ bytes }] }, null, 1.5);
      const heard = [nextEvent(one, 'shout'), nextEvent(two, 'shout')];
      one.emit('shout', 'from-middleware', { bytes });
      const numbers: number[] = [];
      const all = new Promise<void>((resolve) =>
        one.on('number', (number) => numbers.push(number) === 20 && resolve()),
      );
      one.emit('burst', 20);
      await all;
      one.on('question', (answer) => answer('fine'));
      return [echo, await Promise.all(heard), numbers, await one.emitWithAck('ask')];
    }, compression);
  });

  test('lets clients join and leave namespaces', async () => {
    await expectSame(async (served) => {
      const socket = client(served, {}, '/other');
      return nextEvent(socket, 'hello');
    });
  });

  test('refuses clients in its middleware', async () => {
    await expectSame(async (served) => {
      const socket = client(served, { auth: { token: 'wrong' } });
      const [error] = await nextEvent<[Error & { data: unknown }]>(socket, 'connect_error');
      return [error.message, error.data];
    });
  });

  test('waits in vain for the acknowledgement of a client that disconnects', async () => {
    await expectSame(async (served) => {
      const [one, two] = [client(served), client(served)];
      await Promise.all([nextEvent(one, 'connect'), nextEvent(two, 'connect')]);
      one.on('commit', (answer) => answer('done'));
      two.on('commit', () => two.disconnect());
      const failure = await served.io
        .timeout(500)
        .emitWithAck('commit')
        .catch((error) => error);
      return [failure.message, failure.responses];
    });
  });

  test('throws clients out', async () => {
    await expectSame(async (served, seen) => {
      const socket = client(served, { transports: ['websocket'] });
      await nextEvent(socket, 'connect');
      socket.emit('out');
      const [reason] = await nextEvent<[string]>(socket, 'disconnect');
      await until(() => seen.some(([what]) => what === 'conn closed'));
      return [reason, served.io.engine.clientsCount];
    });
  });

  test('closes all connections with io.close()', async () => {
    await expectSame(async (served, seen) => {
      const sockets = transports.map((list) => client(served, { transports: list }));
      await Promise.all(sockets.map((socket) => nextEvent(socket, 'connect')));
      const gone = Promise.all(sockets.map((socket) => nextEvent<[string]>(socket, 'disconnect')));
      await served.close();
      const reasons = (await gone).map(([reason]) => reason);
      // Whether a client finds nobody then, or nobody who knows it, is the HTTP server's affair.
      seen.length = 0;
      return [reasons, served.io.engine.clientsCount];
    });
  });

  test('answers with the same headers and cookies', async () => {
    const options = { cookie: { name: 'sticky', path: '/x', secure: false } };
    await expectSame(async ({ url }) => {
      const handshake = await request(`${url}/socket.io/?EIO=4&transport=polling`);
      const poll = await request(`${url}/socket.io/?EIO=4&transport=polling&sid=GET-1`, { method: 'POST', body: '40' });
      return [handshake, poll];
    }, options);
  });

  test.each([
    ['one origin', { origin: 'https://example.com', credentials: true, methods: ['GET'] }],
    ['any origin', { origin: '*' }],
    ['the origin of the request', { origin: true }],
    ['patterns', { origin: [/\.example\.com$/, 'https://example.com'], exposedHeaders: ['x-each'], maxAge: 5 }],
    [
      'a function',
      (_request: unknown, done: (error: null, options: object) => void) =>
        done(null, { origin: 'https://example.com' }),
    ],
    ['no other origin', { origin: false }],
  ])('allows %s to call', async (_name, cors) => {
    await expectSame(
      async ({ url }) => {
        const address = `${url}/socket.io/?EIO=4&transport=polling`;
        const headers = { origin: 'https://example.com', 'access-control-request-method': 'POST' };
        return [await request(address, { method: 'OPTIONS', headers }), await request(address, { headers })];
      },
      { cors: cors as ServerOptions['cors'] },
    );
  });

  test('refuses the same requests', async () => {
    const allowRequest: ServerOptions['allowRequest'] = (req, done) =>
      setImmediate(() => done(req.headers['x-reason'] as string, req.headers['x-key'] === 'right'));
    await expectSame(
      async ({ url }) => {
        const address = `${url}/socket.io/?EIO=4`;
        return [
          await request(`${address}&transport=polling`),
          await request(`${address}&transport=polling`, { headers: { 'x-reason': 'too late' } }),
          await request(`${address}&transport=polling`, { headers: { 'x-key': 'right' } }),
          await request(`${address}&transport=polling`, { headers: { 'x-failing': '1' } }),
          await request(`${address}&transport=polling`, { headers: { 'x-ended': '1' } }),
          await request(`${address}&transport=polling`, { method: 'PUT' }),
          await request(`${address}&transport=carrier`),
          await request(address),
          await request(`${address}&transport=websocket`),
          await request(`${address}&transport=polling&sid=__proto__`),
          await request(`${url}/socket.io/?transport=polling`, { headers: { 'x-key': 'right' } }),
        ];
      },
      { allowRequest },
    );
  });

  test.each([
    [{ path: '/elsewhere', addTrailingSlash: false }],
    [{ transports: ['polling' as const] }],
    [{ allowUpgrades: false, pingInterval: 1000, pingTimeout: 500, maxHttpBufferSize: 2000 }],
  ])('tells clients the same with %j', async (options) => {
    await expectSame(async ({ url }) => {
      const { path = '/socket.io/' } = options as Partial<ServerOptions>;
      return request(`${url}${path}?EIO=4&transport=polling`);
    }, options);
  });

  test('is served over TLS alike', async () => {
    const folder = temporaryFolder();
    const tls = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') };
    copyPem(tls.key, tls.cert);
    await expectSame(
      async (served) => {
        const socket = client(served);
        await upgraded(socket);
        const { secure, xdomain, address } = await socket.emitWithAck('handshake');
        return { secure, xdomain, address };
      },
      {},
      tls,
    );
  });
});
