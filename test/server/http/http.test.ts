import { once } from 'node:events';
import { Agent, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, afterEach, describe, expect, jest, test } from '@jest/globals';
import { closeConnections, RawConnection } from '../../engine/support/tcp.js';
import { nextEvent } from '../../support/clients.js';
import { pass } from '../../support/until.js';
import { answerTo, ask, get, responseTo } from '../support/requests.js';
import { classes, closeAll, run } from '../support/servers.js';

afterEach(async () => {
  jest.useRealTimers();
  closeConnections();
  await closeAll();
});
afterAll(closeAll);

const MIB = 1 << 20;

/** Resolves with the next request. */
async function nextRequest(http: HttpServer): Promise<[IncomingMessage, ServerResponse]> {
  return (await once(http, 'request')) as [IncomingMessage, ServerResponse];
}

/** The listeners of a test come after `listen()`. */
const beside = { portOwner: 'node' } as const;

describe.each(classes)('an HTTP server beside %s', (_name, Server) => {
  test('sees real requests', async () => {
    const { http, port } = await run(Server, undefined, beside);
    const received = nextRequest(http);
    const answer = get(port, '/path?query=1', { headers: { 'X-Twice': ['a', 'b'], cookie: 'a=1' } });
    const [message, response] = await received;
    const { method, url, httpVersion, complete, socket } = message;
    expect({ method, url, httpVersion, complete }).toEqual({
      method: 'GET',
      url: '/path?query=1',
      httpVersion: '1.1',
      complete: true,
    });
    expect(message.headers).toMatchObject({ 'x-twice': 'a, b', cookie: 'a=1', host: `127.0.0.1:${port}` });
    expect(message.rawHeaders.map((text) => text.toLowerCase())).toEqual(expect.arrayContaining(['x-twice', 'a', 'b']));
    expect(socket.remoteAddress).toBe('127.0.0.1');
    expect(socket.localPort).toBe(port);
    expect((socket as { encrypted?: boolean }).encrypted).toBeUndefined();
    expect(message.constructor.name).toBe('IncomingMessage');
    expect(response.constructor.name).toBe('ServerResponse');
    response.end();
    expect((await answer).status).toBe(200);
  });

  test('answers with status, headers and body', async () => {
    const { port } = await run(Server, (_message, response) => {
      response.setHeader('Set-Cookie', ['a=1', 'b=2']);
      response.setHeader('X-Latin', 'é');
      response.writeHead(201, 'Made', { 'content-type': 'text/plain' });
      response.write('one ');
      response.end('two');
    });
    const { status, message, headers, body } = await get(port);
    expect({ status, message, body }).toEqual({ status: 201, message: 'Made', body: 'one two' });
    expect(headers).toMatchObject({ 'set-cookie': ['a=1', 'b=2'], 'content-type': 'text/plain', 'x-latin': 'é' });
    expect(headers.date).toBeDefined();
  });

  test.each([
    ['HEAD', 200, '11'],
    ['GET', 204, undefined],
    ['GET', 304, undefined],
  ])('answers a %s with %s without a body', async (method, status, length) => {
    const { port } = await run(Server, (_message, response) => {
      if (status === 200) response.setHeader('content-length', 11);
      response.writeHead(status).end(status === 200 ? 'hello world' : undefined);
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let round = 0; round < 2; round++) {
      const answer = await get(port, '/', { method, agent });
      expect(answer).toMatchObject({ status, body: '' });
      expect(answer.headers['content-length']).toBe(length);
    }
    agent.destroy();
  });

  test('keeps a connection alive, and ends it when asked to', async () => {
    const { port } = await run(Server, (message, response) => {
      if (message.url === '/last') response.setHeader('connection', 'close');
      response.end('fine');
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<Socket>();
    for (const path of ['/', '/', '/last']) {
      const sent = ask(port, { path, agent });
      sent.on('socket', (socket) => sockets.add(socket));
      const { body, headers } = await answerTo(sent);
      const isLast = path === '/last';
      expect([body, headers.connection]).toEqual(['fine', isLast ? 'close' : 'keep-alive']);
      expect(headers['keep-alive']).toBe(isLast ? undefined : 'timeout=5');
    }
    expect(sockets.size).toBe(1);
    agent.destroy();
    expect((await get(port, '/', { headers: { connection: 'close' } })).headers.connection).toBe('close');
  });

  test('sends a stream of unknown length as it comes', async () => {
    const { http, port } = await run(Server, undefined, beside);
    const received = nextRequest(http);
    const sent = ask(port).end();
    const [, response] = await received;
    response.write('one');
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(String((await once(answer, 'data'))[0])).toBe('one');
    const rest = once(answer, 'data');
    const ended = once(answer, 'end');
    response.end('two');
    expect(String((await rest)[0])).toBe('two');
    await ended;
  });

  test('opens an event stream before its first event, and learns that the client has gone', async () => {
    const { http, port } = await run(Server, undefined, beside);
    const received = nextRequest(http);
    const sent = ask(port).end();
    const [message, response] = await received;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(answer.headers['content-type']).toBe('text/event-stream');
    const gone = [nextEvent(message, 'close'), nextEvent(response, 'close')];
    sent.destroy();
    await Promise.all(gone);
    expect(response.writableFinished).toBe(false);
    expect(response.destroyed).toBe(true);
  });

  test('tells of an upload that was broken off', async () => {
    const { http, port } = await run(Server, undefined, beside);
    const received = nextRequest(http);
    const sent = ask(port, { method: 'POST', headers: { 'content-length': 1000 } });
    sent.on('error', () => {});
    sent.write('some');
    const [message] = await received;
    const aborted = once(message, 'aborted');
    const failed = once(message, 'error');
    message.resume();
    sent.destroy();
    await aborted;
    expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' });
    expect(message.complete).toBe(false);
  });

  test.each([
    ['of known length', { 'content-length': 40 * MIB }],
    ['in chunks', {}],
  ])('sends a large body %s no faster than its client reads', async (_how, headers) => {
    let produced = 0;
    const { http, port } = await run(Server, undefined, beside);
    const received = nextRequest(http);
    const sent = ask(port).end();
    const [, response] = await received;
    response.writeHead(200, headers);
    const part = Buffer.alloc(MIB, 'x');
    while (response.write(part)) produced++;
    produced++;
    expect(response.writableNeedDrain).toBe(true);
    // What the two sockets hold between them.
    expect(produced).toBeLessThan(20);
    const rest = pipeline(
      Readable.from(
        (function* () {
          for (; produced < 40; produced++) yield part;
        })(),
      ),
      response,
    );
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    let length = 0;
    for await (const chunk of answer) length += (chunk as Buffer).length;
    await rest;
    expect(length).toBe(40 * MIB);
  });

  test('reads an upload no faster than the application', async () => {
    const { http, port } = await run(Server, undefined, beside);
    const received = nextRequest(http);
    const sent = ask(port, { method: 'POST', headers: { 'content-length': 100 * MIB } });
    const part = Buffer.alloc(MIB);
    let taken = 0;
    let wanted = 100;
    const send = () => {
      while (wanted > 0) {
        wanted--;
        if (!sent.write(part, () => taken++)) return void sent.once('drain', send);
      }
      sent.end();
    };
    send();
    const [message, response] = await received;
    // Another request's round trip, some times over: what could be taken is taken by then.
    for (let round = 0; round < 20; round++) {
      const other = nextRequest(http);
      const answer = get(port);
      (await other)[1].end();
      await answer;
    }
    expect(taken).toBeLessThan(30);
    let length = 0;
    for await (const chunk of message) length += (chunk as Buffer).length;
    response.end(String(length));
    expect((await answerTo(sent)).body).toBe(String(100 * MIB));
  });

  test('sends back an upload while it comes in', async () => {
    const { port } = await run(Server, (message, response) => message.pipe(response));
    const sent = ask(port, { method: 'POST' });
    const responded = once(sent, 'response') as Promise<[IncomingMessage]>;
    const upload = pipeline(Readable.from(Array(30).fill(Buffer.alloc(MIB, 'y'))), sent);
    const [answer] = await responded;
    let length = 0;
    for await (const chunk of answer) {
      length += (chunk as Buffer).length;
      if (length % 7 === 0) await new Promise(setImmediate);
    }
    await upload;
    expect(length).toBe(30 * MIB);
  });

  test('answers before an upload is read, and goes on with the connection', async () => {
    const { port } = await run(Server, (message, response) => {
      if (message.method === 'POST') response.writeHead(413);
      response.end();
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sent = ask(port, { method: 'POST', agent, headers: { 'content-length': 3 * MIB } });
    expect((await answerTo(sent, Buffer.alloc(3 * MIB))).status).toBe(413);
    expect((await get(port, '/', { agent })).status).toBe(200);
    agent.destroy();
  });

  test.each([
    ['in one piece', '/whole', 'refused'],
    ['in parts', '/parts', 'refused'],
    ['without a body', '/empty', ''],
    ['with 204', '/204', ''],
  ])('answers %s while the client still sends a body in chunks', async (_how, path, body) => {
    const { port } = await run(Server, (message, response) => {
      const { url } = message;
      response.statusCode = url === '/204' ? 204 : 413;
      if (url === '/parts') response.write('refu');
      response.end({ '/whole': 'refused', '/parts': 'sed' }[url!]);
    });
    // No response waits for a time to pass.
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    const sent = ask(port, { method: 'POST', path });
    sent.write('abc');
    const date = expect.stringMatching(/GMT$/);
    expect(await responseTo(sent)).toMatchObject({ status: path === '/204' ? 204 : 413, body, headers: { date } });
    sent.destroy();
  });

  test('goes on with a connection whose upload it has read slowly', async () => {
    const { port } = await run(Server, async (message, response) => {
      let length = 0;
      for await (const part of message) {
        length += (part as Buffer).length;
        await new Promise(setImmediate);
      }
      response.end(String(length));
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let round = 0; round < 3; round++) {
      const sent = ask(port, { method: 'POST', agent, headers: { 'content-length': 2 * MIB } });
      expect((await answerTo(sent, Buffer.alloc(2 * MIB))).body).toBe(String(2 * MIB));
      expect((await get(port, '/', { agent })).body).toBe('0');
    }
    agent.destroy();
  });

  test('sends early hints before the response, and trailers after it', async () => {
    const { http, port } = await run(Server, undefined, beside);
    const received = nextRequest(http);
    const sent = ask(port, { headers: { te: 'trailers' } }).end();
    const [, response] = await received;
    const hinted = once(sent, 'information') as Promise<[{ statusCode: number; headers: IncomingMessage['headers'] }]>;
    response.writeEarlyHints({ link: ['</a.css>; rel=preload', '</b.js>; rel=preload'], 'x-more': 'a' });
    const [{ statusCode, headers }] = await hinted;
    expect(statusCode).toBe(103);
    expect(headers).toEqual({ link: '</a.css>; rel=preload, </b.js>; rel=preload', 'x-more': 'a' });
    response.writeProcessing();
    expect((await once(sent, 'information'))[0]).toMatchObject({ statusCode: 102 });
    response.writeHead(201, { trailer: 'x-sum' });
    response.write('one ');
    response.addTrailers({ 'x-sum': '42', 'x-e': 'é' });
    response.end('two');
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    let body = '';
    for await (const part of answer) body += part;
    expect([answer.statusCode, body, answer.trailers]).toEqual([201, 'one two', { 'x-sum': '42', 'x-e': 'é' }]);
  });

  test('sends trailers of a response without a body', async () => {
    const { port } = await run(Server, (_message, response) => {
      response.writeHead(200, { trailer: 'x-sum' });
      response.addTrailers({ 'x-sum': '0', 'x-other': '1' });
      response.end();
    });
    const [answer] = (await once(ask(port).end(), 'response')) as [IncomingMessage];
    for await (const _part of answer);
    expect(answer.trailers).toEqual({ 'x-sum': '0', 'x-other': '1' });
  });

  test.each([false, true])('ends a response that closes its connection, with a known length: %s', async (isKnown) => {
    const { port } = await run(Server, async (_message, response) => {
      response.setHeader('connection', 'close');
      if (isKnown) response.setHeader('content-length', 9);
      response.write('one ');
      await new Promise(setImmediate);
      response.write('two ');
      await new Promise(setImmediate);
      response.end('3');
    });
    const { body, headers } = await get(port);
    expect([body, headers.connection]).toEqual(['one two 3', 'close']);
  });

  test('emits drain after the last bytes of a known length, so that the response can be ended', async () => {
    const { http, port } = await run(Server, undefined, beside);
    const received = nextRequest(http);
    const sent = ask(port).end();
    const [, response] = await received;
    response.writeHead(200, { 'content-length': 20 * MIB, connection: 'close' });
    const finished = once(response, 'finish');
    expect(response.write(Buffer.alloc(20 * MIB))).toBe(false);
    response.once('drain', () => response.end());
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    await finished;
  });

  test.each(['FOO', 'get', 'GET:'])('answers a request with the method %s with 400', async (method) => {
    const { port } = await run(Server, (_message, response) => response.end());
    const connection = await RawConnection.to(port);
    connection.write(`${method} / HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  });

  test('lets a client go on that waits for 100 Continue', async () => {
    const { port } = await run(Server, (message, response) => message.pipe(response));
    const sent = ask(port, { method: 'POST', headers: { expect: '100-continue', 'content-length': 5 } });
    sent.flushHeaders();
    await once(sent, 'continue');
    expect((await answerTo(sent, 'hello')).body).toBe('hello');
  });

  test('tells of time-outs', async () => {
    const { http, port } = await run(Server, undefined, beside);
    const received = nextRequest(http);
    const sent = ask(port).end();
    const [, response] = await received;
    const fired = once(response, 'timeout');
    response.setTimeout(30);
    await fired;
    response.end('late');
    expect((await answerTo(sent)).body).toBe('late');
  });

  test('counts connections, and cuts them off', async () => {
    const { http, port } = await run(Server, undefined, beside);
    const connection = once(http, 'connection') as Promise<[Socket]>;
    const received = nextRequest(http);
    const sent = ask(port).end();
    const failed = once(sent, 'error');
    const [message] = await received;
    expect((await connection)[0]).toBe(message.socket);
    expect(await new Promise((resolve) => http.getConnections((_error, count) => resolve(count)))).toBe(1);
    http.closeAllConnections();
    await failed;
  });
});

// Both take as long as the idle timeout.
test.concurrent.each(classes)(
  'an HTTP server beside %s lets an application work for longer than the idle timeout after a slow upload',
  async (_name, Server) => {
    const { http, port } = await run(Server, undefined, beside);
    const received = nextRequest(http);
    const sent = ask(port, { method: 'POST', headers: { 'content-length': MIB } });
    sent.end(Buffer.alloc(MIB));
    const [message, response] = await received;
    for await (const _part of message) await new Promise(setImmediate);
    void pass(11_000).then(() => response.end('done'));
    expect((await answerTo(sent)).body).toBe('done');
  },
);
