import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import type { ServerOptions } from '../../../../src/index.js';
import { clientFrame, handshake, opcodes, RawWebSocket } from '../../../engine/bases/support/frames.js';
import { closeConnections, RawConnection } from '../../../engine/support/tcp.js';
import { classes, closeAll, run } from '../support/servers.js';

afterEach(async () => {
  closeConnections();
  await closeAll();
});

const [[, StockServer], [, Server]] = classes;

/** What node:http hands to the application does not pass through gjallar: see test/io/server/frameworks.test.ts. */
const listener: RequestListener = (_message, response) => response.end('application');
const kinds: [string, typeof Server, Partial<ServerOptions>][] = [
  ['socket.io', StockServer, {}],
  ['gjallar', Server, {}],
];

test.each(kinds)('a handshake over polling on %s names its length', async (_name, Class, options) => {
  const { port } = await run(Class, listener, options);
  const response = await fetch(`http://127.0.0.1:${port}/socket.io/?EIO=4&transport=polling`);
  const body = await response.text();
  expect(response.headers.get('content-length')).toBe(`${Buffer.byteLength(body)}`);
  expect(response.headers.get('transfer-encoding')).toBe(null);
});

test.each(kinds)('a cookie of a listener on %s comes beside that of the engine', async (_name, Class, options) => {
  const { io, port } = await run(Class, listener, { ...options, cookie: true });
  io.engine.on('initial_headers', (headers: Record<string, string>) => {
    headers['set-cookie'] = 'mine=1';
  });
  const handshake = () => fetch(`http://127.0.0.1:${port}/socket.io/?EIO=4&transport=polling`);
  const both = [expect.stringMatching(/^io=/), 'mine=1'];
  expect((await handshake()).headers.getSetCookie()).toEqual(both);
  io.engine.use((_request: unknown, _response: unknown, next: () => void) => next());
  expect((await handshake()).headers.getSetCookie()).toEqual(both);
});

test.each(kinds)('a listener on %s can add to the cookies of the engine', async (_name, Class, options) => {
  for (const application of [listener, undefined]) {
    const { io, port } = await run(Class, application, { ...options, cookie: true });
    io.engine.on('initial_headers', (headers: Record<string, string[]>) => headers['Set-Cookie']!.push('mine=1'));
    const response = await fetch(`http://127.0.0.1:${port}/socket.io/?EIO=4&transport=polling`);
    expect(response.headers.getSetCookie()).toEqual([expect.stringMatching(/^io=/), 'mine=1']);
  }
});

test.each(kinds)('a length that middleware on %s names is sent once', async (_name, Class, options) => {
  const { io, port } = await run(Class, listener, options);
  io.engine.use((_request: unknown, response: ServerResponse) => {
    response.writeHead(429, { 'content-length': 2 });
    response.end('no');
  });
  const connection = await RawConnection.to(port);
  connection.write('GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const received = await connection.closed;
  expect(received.match(/^content-length: .*/gim)).toHaveLength(1);
  expect(received).toMatch(/^HTTP\/1\.1 429 .*\r\n\r\nno$/s);
});

test.each(kinds)('allowRequest on %s can add headers to the response of a poll', async (_name, Class, options) => {
  const allowRequest: ServerOptions['allowRequest'] = (request, done) => {
    const { res } = request as unknown as { res?: ServerResponse };
    res?.setHeader('X-Allowed', 'yes');
    done(null, true);
  };
  const { port } = await run(Class, listener, { ...options, allowRequest });
  const url = `http://127.0.0.1:${port}/socket.io/?EIO=4`;
  const response = await fetch(`${url}&transport=polling`);
  expect([response.status, response.headers.get('x-allowed')]).toEqual([200, 'yes']);
  const webSocket = await RawWebSocket.to(port, '/socket.io/?EIO=4&transport=websocket');
  expect(webSocket.response).toMatch(/^HTTP\/1\.1 101 /);
  expect(webSocket.response).not.toMatch(/x-allowed/i);
});

test('an upgrade waits for the responses to the requests before it, and its frames arrive', async () => {
  const { io, port } = await run(Server, (message, response) => {
    setImmediate(() => response.end(`answer to ${message.url}`));
  });
  io.on('connection', (socket) => socket.emit('welcome'));
  const connection = await RawConnection.to(port);
  const pages = ['/one', '/two'].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join('');
  const connect = clientFrame(opcodes.text, Buffer.from('40'));
  connection.socket.write(
    Buffer.concat([Buffer.from(pages + handshake('/socket.io/?EIO=4&transport=websocket')), connect]),
  );
  while (!connection.received.includes('welcome')) await once(connection.socket, 'data');
  const parts = ['answer to /one', 'answer to /two', ' 101 ', '0{"sid"', '40{"sid"', '42["welcome"]'];
  const places = parts.map((part) => connection.received.indexOf(part));
  expect(places).toEqual([...places].sort((one, other) => one - other));
  expect(places).not.toContain(-1);
});

test('a client may go while its upgrade waits', async () => {
  const answers: (() => void)[] = [];
  const { http, port } = await run(Server, (_message, response) => {
    answers.push(() => response.end('late'));
  });
  const upgrade = once(http, 'upgrade') as Promise<[IncomingMessage, Socket]>;
  const connection = await RawConnection.to(port);
  connection.write(`GET / HTTP/1.1\r\nHost: x\r\n\r\n${handshake('/socket.io/?EIO=4&transport=websocket')}`);
  const [, socket] = await upgrade;
  const gone = new Promise((resolve) => socket.once('close', resolve));
  connection.socket.resetAndDestroy();
  await gone;
  answers[0]!();
  expect((await fetch(`http://127.0.0.1:${port}/socket.io/?EIO=4&transport=polling`)).status).toBe(200);
});
