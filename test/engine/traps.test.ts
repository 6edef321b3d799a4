import { connect as connectTcp, type Socket as TcpSocket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { EngineRequest } from '../../src/engine/http/request.js';
import { closeEngines, eventOf, startEngine } from './support/engine.js';
import { closeWebSockets, openPolling, openWebSocket } from './support/raw.js';

const connections = new Set<TcpSocket>();

afterEach(() => {
  closeWebSockets();
  for (const socket of connections) socket.destroy();
  connections.clear();
  closeEngines();
});

/** A bare connection: what is written to it, and how much at once, is what the test wants to see. */
async function openTcp(port: number): Promise<TcpSocket> {
  const socket = connectTcp(port, '127.0.0.1');
  connections.add(socket);
  socket.on('error', () => {});
  await eventOf(socket, 'connect');
  return socket;
}

const upgradeHeaders =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

describe('traps of uWebSockets.js', () => {
  test('a request can be read long after its handler has returned', async () => {
    let late: Promise<EngineRequest> | undefined;
    const { url, nextSession } = await startEngine({
      allowRequest: (request: EngineRequest, done) => {
        late = new Promise((resolve) =>
          setImmediate(() => {
            resolve(request);
            done(null, true);
          }),
        );
      },
    });
    const opened = nextSession();
    await openPolling(`${url}&x=a%20b`, { 'x-name': 'value', cookie: 'a=1' });
    const request = await late!;
    expect(request.headers).toMatchObject({ 'x-name': 'value', cookie: 'a=1', host: expect.any(String) });
    expect(request._query).toEqual({ EIO: '4', x: 'a b', transport: 'polling' });
    expect(request.url).toBe('/socket.io/?EIO=4&x=a%20b&transport=polling');
    expect([request.method, request.connection.remoteAddress]).toEqual(['GET', '127.0.0.1']);
    const session = await opened;
    expect([session.request, session.remoteAddress]).toEqual([request, '127.0.0.1']);
  });

  test('an upgrade and its first packet go out in one write', async () => {
    const { port } = await startEngine();
    const socket = await openTcp(port);
    socket.write(`GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\n${upgradeHeaders}\r\n`);
    const [bytes] = await eventOf<[Buffer]>(socket, 'data');
    expect(bytes.toString('latin1')).toMatch(/^HTTP\/1.1 101 [\s\S]*\r\n\r\n.+0\{"sid":"[^"]+"/);
  });

  test('a response goes out in one write, also after its handler has returned', async () => {
    const { port } = await startEngine({ allowRequest: (_request, done) => setImmediate(() => done(null, true)) });
    const socket = await openTcp(port);
    socket.write('GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: x\r\n\r\n');
    const [bytes] = await eventOf<[Buffer]>(socket, 'data');
    expect(bytes.toString()).toMatch(/^HTTP\/1.1 200 [\s\S]*\r\n\r\n0\{"sid":"[^"]+".*\}$/);
  });

  test('upgrades after the handler has returned stay open, whatever the memory they land in', async () => {
    const { url, engine } = await startEngine({
      allowRequest: (_request, done) => setImmediate(() => done(null, true)),
    });
    engine.on('headers', (headers) => {
      headers['x-filler'] = 'x'.repeat(Math.ceil(Math.random() * 500));
    });
    for (let round = 0; round < 4; round++) {
      const clients = Array.from({ length: 10 }, () => openWebSocket(url));
      for (const client of clients) expect(await client.next()).toMatch(/^0\{/);
      for (const session of Object.values(engine.clients)) session.send('fence');
      for (const client of clients) expect(await client.next()).toBe('4fence');
      closeWebSockets();
    }
  });

  test('nothing is written to a request whose client has gone', async () => {
    let decide: (() => void) | undefined;
    const asked: { resolve?: () => void } = {};
    const { port, engine, url } = await startEngine({
      allowRequest: (request, done) => {
        if (!request.headers['x-gone']) return done(null, true);
        decide = () => done(null, request.headers['x-gone'] === 'let in');
        asked.resolve?.();
      },
    });
    for (const upgrade of ['', upgradeHeaders]) {
      for (const answer of ['let in', 'refused']) {
        const waiting = new Promise<void>((resolve) => {
          asked.resolve = resolve;
        });
        const socket = await openTcp(port);
        const transport = upgrade ? 'websocket' : 'polling';
        socket.write(
          `GET /socket.io/?EIO=4&transport=${transport} HTTP/1.1\r\nHost: x\r\nX-Gone: ${answer}\r\n${upgrade}\r\n`,
        );
        await waiting;
        socket.resetAndDestroy();
        // The server hears of the reset before it hears of a connection that was opened after it.
        await openPolling(url);
        decide!();
      }
    }
    expect(engine.clientsCount).toBe(4);
    expect((await openPolling(url)).sid).toBeDefined();
  });

  test('a response that is compressed while its client goes away is dropped', async () => {
    const { port, nextSession, url } = await startEngine({ httpCompression: { threshold: 1 } });
    const opened = nextSession();
    const { sid } = await openPolling(url);
    const session = await opened;
    const socket = await openTcp(port);
    const drained = eventOf(session, 'drain');
    socket.write(
      `GET /socket.io/?EIO=4&transport=polling&sid=${sid} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n`,
    );
    session.send('x'.repeat(500_000));
    await drained;
    socket.resetAndDestroy();
    expect((await openPolling(url)).sid).toBeDefined();
  });

  test('binary messages that an application keeps do not change', async () => {
    const { url, nextSession } = await startEngine();
    const opened = nextSession();
    const client = openWebSocket(url);
    const session = await opened;
    await client.next();
    const kept: Buffer[] = [];
    const all = new Promise<void>((resolve) =>
      session.on('data', (data: Buffer) => kept.push(data) === 50 && resolve()),
    );
    for (let number = 0; number < 50; number++) client.send(Buffer.alloc(1000, number));
    await all;
    expect(kept).toEqual(Array.from({ length: 50 }, (_, number) => Buffer.alloc(1000, number)));
  });

  test('a text arrives as it was sent, with a mark of the byte order and characters of any length', async () => {
    const { url, nextSession } = await startEngine();
    const opened = nextSession();
    const client = openWebSocket(url);
    const session = await opened;
    await client.next();
    const texts = ['\ufeffmarked', 'ü€👍\0', '', 'x'.repeat(10_000), '\ufeff'];
    const kept: string[] = [];
    const all = new Promise<void>((resolve) =>
      session.on('data', (data: string) => kept.push(data) === texts.length && resolve()),
    );
    for (const text of texts) client.send(`4${text}`);
    await all;
    expect(kept).toEqual(texts);
  });
});

describe('traps of the protocol', () => {
  test('binary data that is no packet closes a session of revision 3', async () => {
    const { url, nextSession } = await startEngine({ allowEIO3: true }, { version: 3 });
    const opened = nextSession();
    const client = await openPolling(url);
    const closed = eventOf<[string]>(await opened, 'close');
    await client.post(Buffer.of(0, 1, 255, 99), { 'content-type': 'application/octet-stream' });
    expect((await closed)[0]).toBe('parse error');
  });

  test.each([['__proto__'], ['constructor'], ['toString'], ['hasOwnProperty'], ['%5f%5fproto%5f%5f']])(
    'sid=%s finds nothing',
    async (sid) => {
      const { url, engine } = await startEngine();
      await openPolling(url);
      for (const init of [{}, { method: 'POST', body: '4a' }]) {
        const response = await fetch(`${url}&transport=polling&sid=${sid}`, init);
        expect([response.status, await response.json()]).toEqual([400, { code: 1, message: 'Session ID unknown' }]);
      }
      expect(await openWebSocket(`${url}&sid=${sid}`).status).toBe(400);
      expect(engine.clients.toString).toBeUndefined();
    },
  );

  test('two polls at a time close the session', async () => {
    const { url, engine, nextSession } = await startEngine();
    const opened = nextSession();
    const client = await openPolling(url);
    const closed = eventOf<[string, Error]>(await opened, 'close');
    const answers = await Promise.all([client.poll(), client.poll()]);
    expect(answers.sort()).toEqual([
      [200, '1'],
      [400, ''],
    ]);
    const [reason, error] = await closed;
    expect([reason, error.message]).toEqual(['transport error', 'overlap from client']);
    expect((await client.poll())[0]).toBe(400);
    expect(engine.clientsCount).toBe(0);
  });

  test('two posts at a time close the session', async () => {
    const { url, port, engine, nextSession } = await startEngine();
    const opened = nextSession();
    const client = await openPolling(url);
    const closed = eventOf<[string, Error]>(await opened, 'close');
    const arrived = new Promise<void>((resolve) => {
      engine.use((_request, _response, next) => {
        next();
        resolve();
      });
    });
    const first = await openTcp(port);
    const cutOff = eventOf(first, 'close');
    first.write(
      `POST /socket.io/?EIO=4&transport=polling&sid=${client.sid} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n4a`,
    );
    await arrived;
    expect(await client.post('4b')).toEqual([400, '']);
    const [reason, error] = await closed;
    expect([reason, error.message]).toEqual(['transport error', 'data request overlap from client']);
    await cutOff;
  });

  test('a header that could not be written back is refused', async () => {
    const { url, engine, port } = await startEngine({ cors: { origin: true } });
    const reported = eventOf<[{ context: object }]>(engine, 'connection_error');
    const socket = await openTcp(port);
    const { pathname, search } = new URL(url);
    socket.write(`GET ${pathname}${search}&transport=polling HTTP/1.1\r\nHost: x\r\nOrigin: http://a\x7fb\r\n\r\n`);
    const [bytes] = await eventOf<[Buffer]>(socket, 'data');
    expect(bytes.toString()).toMatch(/^HTTP\/1.1 400 /);
    expect((await reported)[0].context).toEqual({ name: 'INVALID_ORIGIN', origin: 'http://a\x7fb' });
  });
});
