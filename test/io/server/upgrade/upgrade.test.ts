import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import { Server } from '../../../../src/index.js';
import { nextEvent } from '../../../support/clients.js';
import { classes, client, closeAll, closeLater, run } from '../support/servers.js';

afterEach(closeAll);

/** The listeners of a test come after `listen()`. */
const beside = { portOwner: 'node' } as const;

describe.each(classes)('WebSockets of other libraries beside %s', (_name, Server) => {
  test('exchange messages of any size, pings and close codes', async () => {
    const { http, port, url } = await run(Server, undefined, beside);
    const other = new WebSocketServer({ server: http, path: '/other', perMessageDeflate: true });
    const accepted = once(other, 'connection') as Promise<[WebSocket, { url: string }]>;
    const ws = new WebSocket(`ws://127.0.0.1:${port}/other?x=1`, 'chat');
    const [[inside, request]] = await Promise.all([accepted, once(ws, 'open')]);
    expect([request.url, ws.protocol]).toEqual(['/other?x=1', 'chat']);
    for (const size of [0, 5, 125, 126, 65_535, 65_536, 3_000_000]) {
      const echoed = once(ws, 'message');
      inside.once('message', (data, isBinary) => inside.send(data, { binary: isBinary }));
      ws.send(Buffer.alloc(size, 'x'), { binary: size % 2 === 0 });
      const [data, isBinary] = await echoed;
      expect([data.length, isBinary]).toEqual([size, size % 2 === 0]);
    }
    const pong = once(inside, 'pong');
    inside.ping('there?');
    expect(String((await pong)[0])).toBe('there?');
    // Socket.IO is served beside it.
    await nextEvent(client(url), 'connect');
    const closedInside = once(inside, 'close');
    const closedOutside = once(ws, 'close');
    ws.close(4001, 'bye');
    expect((await closedInside).map(String)).toEqual(['4001', 'bye']);
    await closedOutside;
  });

  test('that nobody answers are ended', async () => {
    const { port } = await run(Server, () => {}, { destroyUpgradeTimeout: 30 });
    const ws = new WebSocket(`ws://127.0.0.1:${port}/nobody`);
    const [error] = await once(ws, 'error');
    expect(error.message).toMatch(/socket hang up|ECONNRESET/);
  });

  test('may be those of a second Socket.IO server on another path', async () => {
    const { http, url } = await run(Server, undefined, beside);
    const second = closeLater(new Server(http, { path: '/second' }));
    second.on('connection', (socket) => socket.emit('from', 'second'));
    const one = client(url);
    const two = client(url, { path: '/second', transports: ['websocket'] });
    const heard = nextEvent(two, 'from');
    await nextEvent(one, 'connect');
    expect(await heard).toEqual(['second']);
    expect([second.engine.clientsCount]).toEqual([1]);
  });
});

test.each([true, false])(
  'a reset during an upgrade that nobody takes ends no process (destroyUpgrade: %p)',
  async (destroyUpgrade) => {
    const { http, port } = await run(Server, () => {}, { ...beside, destroyUpgrade });
    const upgrade = once(http, 'upgrade') as Promise<[unknown, Socket]>;
    const head = 'GET /nobody HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const outside = connect(port, '127.0.0.1', () => outside.write(head));
    const [, inside] = await upgrade;
    const gone = new Promise((resolve) => inside.on('close', resolve));
    outside.resetAndDestroy();
    await gone;
    expect(inside.errored).toMatchObject({ code: 'ECONNRESET' });
  },
);
