import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import { nextEvent } from '../../support/clients.js';
import { get } from '../support/requests.js';
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

  test('are closed by the application with its code', async () => {
    const { http, port } = await run(Server, undefined, beside);
    const other = new WebSocketServer({ server: http, path: '/other' });
    other.on('connection', (inside) => inside.close(4002, 'full'));
    const ws = new WebSocket(`ws://127.0.0.1:${port}/other`);
    const insideClosed = new Promise((resolve) => other.on('connection', (inside) => inside.on('close', resolve)));
    expect((await once(ws, 'close')).map(String)).toEqual(['4002', 'full']);
    expect(await insideClosed).toBe(4002);
  });

  test.each(['', 'body'])(
    'are over once they are refused with %j, even if the library only ends the socket',
    async (text) => {
      const { http, port } = await run(Server, undefined, beside);
      const closed = new Promise<void>((resolve) => {
        http.on('upgrade', (_message, socket) => {
          socket.once('close', resolve);
          socket.end(`HTTP/1.1 400 No\r\n\r\n${text}`);
        });
      });
      const ws = new WebSocket(`ws://127.0.0.1:${port}/other`);
      const [, answer] = await once(ws, 'unexpected-response');
      expect(answer.statusCode).toBe(400);
      answer.resume();
      ws.on('error', () => {}).terminate();
      await closed;
      expect(await new Promise((resolve) => http.getConnections((_error, count) => resolve(count)))).toBe(0);
    },
  );

  test('may be accepted later, with headers, and refused with an answer', async () => {
    const { http, port } = await run(Server, undefined, beside);
    const other = new WebSocketServer({
      noServer: true,
      verifyClient: ({ req }, done) =>
        setImmediate(() => done(req.url !== '/refused', 401, 'No entry', { 'X-Why': 'no' })),
    });
    other.on('headers', (headers) => headers.push('X-Extra: 1'));
    http.on('upgrade', (request, socket, head) =>
      other.handleUpgrade(request, socket, head, (inside) => inside.send('hello')),
    );
    const ws = new WebSocket(`ws://127.0.0.1:${port}/`);
    const [[response], [message]] = await Promise.all([once(ws, 'upgrade'), once(ws, 'message')]);
    expect(response.headers['x-extra']).toBe('1');
    expect(String(message)).toBe('hello');
    ws.terminate();
    const refused = new WebSocket(`ws://127.0.0.1:${port}/refused`);
    const [, answer] = await once(refused, 'unexpected-response');
    expect([answer.statusCode, answer.headers['x-why']]).toEqual([401, 'no']);
    refused.on('error', () => {});
    refused.terminate();
  });

  test('that nobody answers are ended', async () => {
    const { port } = await run(Server, () => {}, { destroyUpgradeTimeout: 30 });
    const ws = new WebSocket(`ws://127.0.0.1:${port}/nobody`);
    const [error] = await once(ws, 'error');
    expect(error.message).toMatch(/socket hang up|ECONNRESET/);
  });

  test('wait for a client that does not read', async () => {
    const { http, port } = await run(Server, undefined, beside);
    const other = new WebSocketServer({ server: http, path: '/other' });
    const accepted = once(other, 'connection') as Promise<[WebSocket]>;
    const ws = new WebSocket(`ws://127.0.0.1:${port}/other`);
    const [[inside]] = await Promise.all([accepted, once(ws, 'open')]);
    ws.pause();
    for (let sent = 0; sent < 40; sent++) inside.send(Buffer.alloc(1 << 20));
    await get(port, '/socket.io/');
    expect(inside.bufferedAmount).toBeGreaterThan(10 << 20);
    let heard = 0;
    const all = new Promise<void>((resolve) => ws.on('message', () => ++heard === 40 && resolve()));
    ws.resume();
    await all;
    ws.terminate();
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
