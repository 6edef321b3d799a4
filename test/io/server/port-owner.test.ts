import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { socketsInUse } from '../../../src/engine/uws/uws.js';
import { Server, type ServerOptions } from '../../../src/index.js';
import { nextEvent } from '../../support/clients.js';
import { until } from '../../support/until.js';
import { get } from './support/requests.js';
import { client, closeAll, closed, closeLater, run } from './support/servers.js';

afterEach(closeAll);

const isNative = socketsInUse.kind === 'native';
const listener: RequestListener = (message, response) => {
  if (!message.url!.startsWith('/socket.io')) response.end('application');
};

/** uWebSockets.js adds a header of its own. */
async function ownerOf(port: number): Promise<'uws' | 'node'> {
  const { headers } = await get(port, '/socket.io/?transport=unknown');
  return headers.uwebsockets === undefined ? 'node' : 'uws';
}

async function listen(http: ReturnType<typeof createServer>): Promise<number> {
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return (http.address() as AddressInfo).port;
}

const cases: [string, () => Promise<number>, boolean][] = [
  ['a server without a handler', async () => (await run(Server)).port, true],
  ['a server with a handler', async () => (await run(Server, listener)).port, false],
  ["portOwner: 'node'", async () => (await run(Server, undefined, { portOwner: 'node' })).port, false],
  [
    'a handler that is added between the Socket.IO server and listen()',
    async () => {
      const http = createServer();
      closeLater(new Server(http));
      http.on('request', listener);
      return listen(http);
    },
    false,
  ],
  [
    'a listener for upgrades',
    async () => {
      const http = createServer().on('upgrade', () => {});
      closeLater(new Server(http));
      return listen(http);
    },
    false,
  ],
  [
    'a listener for connections',
    async () => {
      const http = createServer().on('connection', () => {});
      closeLater(new Server(http));
      return listen(http);
    },
    false,
  ],
  [
    'a listener for connections that is added between the Socket.IO server and listen()',
    async () => {
      const http = createServer();
      closeLater(new Server(http));
      http.on('connection', () => {});
      return listen(http);
    },
    false,
  ],
  [
    'a server that listens already',
    async () => {
      const http = createServer();
      const port = await listen(http);
      closeLater(new Server(http));
      return port;
    },
    false,
  ],
  [
    'two Socket.IO servers and no handler',
    async () => {
      const http = createServer();
      closeLater(new Server(http));
      closeLater(new Server(http, { path: '/other' } as Partial<ServerOptions>));
      return listen(http);
    },
    true,
  ],
];

test.each(cases)('the owner of the port of %s', async (_what, start, isBare) => {
  const port = await start();
  expect(await ownerOf(port)).toBe(isBare && isNative ? 'uws' : 'node');
  expect((await get(port, '/socket.io/?EIO=4&transport=polling')).status).toBe(200);
  await nextEvent(client(`http://127.0.0.1:${port}`, { transports: ['websocket'] }), 'connect');
});

(isNative ? describe : describe.skip)('a port of uWebSockets.js', () => {
  test('answers 404, 501 once a listener is added late, and serves the client', async () => {
    const { http, port } = await run(Server);
    expect((await get(port, '/')).status).toBe(404);
    expect((await get(port, '/socket.io/socket.io.js')).status).toBe(200);
    const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
    http.on('request', () => {});
    await until(() => warn.mock.calls.length > 0);
    expect(warn.mock.calls).toEqual([
      [expect.stringContaining('501'), { type: 'GjallarWarning', code: 'GJALLAR_PORT_OWNER' }],
    ]);
    warn.mockRestore();
    expect((await get(port, '/')).status).toBe(501);
  });

  test('is closed once its clients have gone, and disconnects none', async () => {
    const { http, io, port, url } = await run(Server);
    const connected = client(url, { transports: ['websocket'] });
    await nextEvent(connected, 'connect');
    let isClosed = false;
    const closing = closed(http).then(() => {
      isClosed = true;
    });
    await expect(get(port, '/')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect([isClosed, connected.connected, io.engine.clientsCount]).toEqual([false, true, 1]);
    connected.disconnect();
    await closing;
  });
});
