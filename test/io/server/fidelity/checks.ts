import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage } from 'node:http';
import { expect } from '@jest/globals';
import { RawConnection } from '../../../engine/support/tcp.js';
import { nextEvent } from '../../../support/clients.js';
import { late } from '../../../support/until.js';
import { answerTo, ask, get } from '../support/requests.js';
import { client } from '../support/servers.js';
import { LARGE } from './application.js';

type Check = (port: number) => Promise<unknown>;

const HOST = 'Host: x\r\n';
const BODY = Buffer.alloc(2 << 20, 'b');
const HASH = createHash('sha1').update(BODY).digest('hex');
const EMPTY_HASH = createHash('sha1').digest('hex');

/** Writes bytes, and resolves with everything received once it matches, or the connection is closed. */
async function raw(port: number, text: string, wanted: RegExp): Promise<string> {
  const connection = await RawConnection.to(port);
  connection.write(text);
  const over = Promise.race([late(String(wanted)).catch(() => 'late'), connection.closed]);
  while (!wanted.test(connection.received)) {
    const next = await Promise.race([over, once(connection.socket, 'data').then(() => 'data')]);
    if (next !== 'data') break;
  }
  connection.socket.destroy();
  expect(connection.received).toMatch(wanted);
  return connection.received;
}

async function kept(run: (agent: Agent) => Promise<unknown>): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await run(agent).finally(() => agent.destroy());
}

const body =
  (path: string, wanted: string, options = {}) =>
  async (port: number) =>
    expect((await get(port, path, options)).body).toBe(wanted);

const upload =
  (path: string, headers: object, wanted: string, data = BODY) =>
  (port: number) =>
    kept(async (agent) => {
      for (let round = 0; round < 2; round++) {
        const sent = ask(port, { method: 'POST', path, agent, headers: { ...headers } });
        expect((await answerTo(sent, data)).body).toBe(wanted);
        expect((await get(port, '/text', { agent })).body).toBe('text');
      }
    });

const socketIo = (transports: string[]) => async (port: number) => {
  const socket = client(`http://127.0.0.1:${port}`, { transports });
  await nextEvent(socket, 'connect');
  expect(await socket.emitWithAck('echo', { a: Buffer.from('b') })).toEqual({ a: Buffer.from('b') });
  socket.emit('join', 'room');
  const said = nextEvent(socket, 'said');
  socket.emit('say', 'room', 'hello');
  expect(await said).toEqual(['hello']);
};

/** What a drop-in must do. Each check throws if the server does not. */
export const checks: Record<string, Check> = {
  'a text': body('/text', 'text'),
  JSON: body('/json', Buffer.from('{"a":[1,"é"]}').toString('latin1')),
  'an answer that takes time': body('/later', 'later'),
  'binary bytes': body('/binary', '\x00\xff\r\n\x80'),
  'an unknown path': async (port) => expect((await get(port, '/nothing')).status).toBe(404),
  'a query': body('/url?a=%20b&c', '/url?a=%20b&c'),
  'the host': body('/host', 'example.com', { headers: { host: 'example.com' } }),
  'the address of the client': async (port) => expect((await get(port, '/address')).body).toBe(`127.0.0.1 ${port}`),
  methods: async (port) => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND']) {
      expect((await get(port, '/method', { method })).body).toBe(method);
    }
  },
  cookies: async (port) => {
    const { body: sent, headers } = await get(port, '/cookies', { headers: { cookie: ['x=1', 'y=2'] } });
    expect([sent, headers['set-cookie']]).toEqual(['x=1; y=2', ['a=1; Path=/', 'b=2']]);
  },
  'a header in Latin-1': async (port) => expect((await get(port, '/latin')).headers['x-latin']).toBe('é'),
  'a status message': async (port) =>
    expect(await get(port, '/message')).toMatchObject({ status: 299, message: 'Quite Fine' }),
  'a redirect': async (port) =>
    expect(await get(port, '/redirect')).toMatchObject({ status: 302, headers: { location: '/text' } }),
  HEAD: async (port) => {
    expect(await get(port, '/large', { method: 'HEAD' })).toMatchObject({
      body: '',
      headers: { 'content-length': String(LARGE) },
    });
  },
  '204': (port) =>
    raw(port, `GET /no-content HTTP/1.1\r\n${HOST}\r\n`, /^HTTP\/1.1 204 (?![\s\S]*content-length)[\s\S]*\r\n\r\n$/i),
  '304': async (port) =>
    expect(await get(port, '/not-modified')).toMatchObject({ status: 304, headers: { etag: '"a"' }, body: '' }),
  'a large body of known length': async (port) => expect((await get(port, '/large')).body.length).toBe(LARGE),
  'a large body in chunks': async (port) => expect((await get(port, '/chunks')).body.length).toBe(LARGE),
  'an event stream': async (port) =>
    expect((await get(port, '/events')).body.replace(/^:\n\n/, '')).toBe('data: 1\n\ndata: 2\n\n'),
  'keep-alive': (port) =>
    kept(async (agent) => {
      const sockets = new Set();
      for (let round = 0; round < 3; round++) {
        const sent = ask(port, { path: '/text', agent });
        sent.on('socket', (socket) => sockets.add(socket));
        await answerTo(sent);
      }
      expect(sockets.size).toBe(1);
    }),
  'Connection: close of the client': (port) =>
    raw(port, `GET /text HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`, /connection: close\r\n[\s\S]*text$/i),
  'Connection: close of the application': async (port) =>
    expect((await get(port, '/close')).headers.connection).toBe('close'),
  'an upload of known length': upload('/hash', { 'content-length': BODY.length }, HASH),
  'an upload in chunks': upload('/hash', {}, HASH),
  'an upload that is read slowly': upload('/slow-hash', { 'content-length': BODY.length }, HASH),
  'an empty upload': upload('/hash', { 'content-length': 0 }, EMPTY_HASH, Buffer.alloc(0)),
  'an echo while it is uploaded': upload('/echo', { 'content-length': BODY.length }, BODY.toString()),
  'an upload that is refused': upload('/refuse', { 'content-length': BODY.length }, 'too large'),
  'Expect: 100-continue': async (port) => {
    const sent = ask(port, {
      method: 'POST',
      path: '/hash',
      headers: { expect: '100-continue', 'content-length': BODY.length },
    });
    sent.flushHeaders();
    await once(sent, 'continue');
    expect((await answerTo(sent, BODY)).body).toBe(HASH);
  },
  'early hints': async (port) => {
    const sent = ask(port, { path: '/hints' }).end();
    const [hint] = await once(sent, 'information');
    expect([hint.statusCode, hint.headers.link]).toEqual([103, '</a.css>; rel=preload']);
    expect((await answerTo(sent)).body).toBe('hinted');
  },
  'trailers of a response': async (port) => {
    const [answer] = (await once(ask(port, { path: '/send-trailers' }).end(), 'response')) as [IncomingMessage];
    for await (const _part of answer);
    expect(answer.trailers).toEqual({ 'x-sum': '42' });
  },
  'trailers of a request': async (port) => {
    const sent = ask(port, { method: 'POST', path: '/trailers', headers: { trailer: 'x-sum' } });
    sent.write('body');
    sent.addTrailers({ 'x-sum': '42' });
    expect((await answerTo(sent)).body).toBe('{"x-sum":"42"}');
  },
  'pipelined requests': (port) =>
    raw(
      port,
      `GET /text HTTP/1.1\r\n${HOST}\r\nGET /host HTTP/1.1\r\n${HOST}\r\n`,
      /\r\n\r\ntextHTTP[\s\S]*\r\n\r\nx$/,
    ),
  'pipelined requests whose answers take time': (port) =>
    raw(
      port,
      `GET /later HTTP/1.1\r\n${HOST}\r\nGET /text HTTP/1.1\r\n${HOST}\r\n`,
      /\r\n\r\nlaterHTTP[\s\S]*\r\n\r\ntext$/,
    ),
  'HTTP/1.0': (port) => raw(port, 'GET /text HTTP/1.0\r\n\r\n', /^HTTP\/1\.1 200 [\s\S]*\r\n\r\ntext$/),
  'a malformed request line': (port) => raw(port, 'NOT HTTP AT ALL\r\n\r\n', /^HTTP\/1\.1 400 /),
  'a malformed method': (port) => raw(port, `G=T /text HTTP/1.1\r\n${HOST}\r\n`, /^HTTP\/1\.1 400 /),
  'two lengths': (port) =>
    raw(port, `POST /text HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, /^HTTP\/1\.1 400 /),
  '90 request headers': body('/headers', '92', { headers: many(90) }),
  '150 request headers': body('/headers', '152', { headers: many(150) }),
  'Socket.IO over WebSocket': socketIo(['websocket']),
  'Socket.IO over polling': socketIo(['polling']),
};

function many(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'y']));
}
