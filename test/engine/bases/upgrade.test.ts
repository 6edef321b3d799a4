import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { corkHolder } from '../../../src/engine/uws/cork-holder.js';
import { closeWebSockets, openWebSocket } from '../support/raw.js';
import { closeConnections, RawConnection } from '../support/tcp.js';
import { bases, closeApps, start } from './support/bases.js';
import { clientFrame, handshake, opcodes, RawWebSocket } from './support/frames.js';

/** More than the buffers of the kernel take. */
const LARGE = 20_000_000;

// As an engine does that is attached to an app: without it, uWebSockets.js warns of what is accepted late.
beforeAll(() => corkHolder.acquire());
afterAll(() => corkHolder.release());

afterEach(() => {
  closeWebSockets();
  closeConnections();
  closeApps();
});

describe.each(bases)('the %s base', (name, base) => {
  test('opens a WebSocket with the headers and the protocol of its response', async () => {
    const opened: unknown[] = [];
    const { port } = await start(base, (app) =>
      app.ws('/*', {
        upgrade: (exchange, accept) => {
          opened.push(exchange.request.url);
          accept({ 'X-A': ['1', '2'] });
          // It is open before the call returns.
          opened.push('returned');
        },
        open: (ws) => {
          opened.push('open');
          ws.send('hello', false, false);
        },
      }),
    );
    const raw = await RawWebSocket.to(port, '/path?q', 'Sec-WebSocket-Protocol: one, two');
    expect(opened).toEqual(['/path?q', 'open', 'returned']);
    expect(raw.response).toMatch(/^HTTP\/1.1 101 Switching Protocols\r\n/);
    expect(raw.response).toMatch(/\r\nX-A: 1\r\nX-A: 2\r\n/);
    expect(raw.response).toMatch(/\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/i);
    expect(raw.response).toMatch(/\r\nSec-WebSocket-Protocol: one\r\n/i);
    expect((await raw.next()).payload.toString()).toBe('hello');
  });

  test('accepts or rejects a WebSocket later', async () => {
    const { port } = await start(base, (app) =>
      app.ws('/*', {
        upgrade: (exchange, accept) => {
          setImmediate(() => {
            if (exchange.request.url === '/yes') accept();
            else exchange.send(403, {}, 'not you');
          });
        },
        open: (ws) => void ws.send('hello', false, false),
      }),
    );
    const raw = await RawWebSocket.to(port, '/yes');
    expect((await raw.next()).payload.toString()).toBe('hello');
    const connection = await RawConnection.to(port);
    connection.write(handshake('/no'));
    await connection.responses(1);
    expect(connection.received).toMatch(/^HTTP\/1.1 403 Forbidden\r\n[\s\S]*not you$/);
  });

  test('sends more in the open handler than the client reads', async () => {
    const drained: number[] = [];
    const { port } = await start(base, (app) =>
      app.ws('/*', {
        open: (ws) => void ws.send(Buffer.alloc(LARGE), true, false),
        drain: (ws) => void drained.push(ws.getBufferedAmount()),
      }),
    );
    const client = new WebSocket(`ws://127.0.0.1:${port}/`);
    const ended = new Promise<number>((resolve) => client.on('close', resolve));
    client.on('upgrade', ({ socket }) => socket.pause());
    const received = new Promise<number>((resolve) => client.on('message', (data: Buffer) => resolve(data.length)));
    await new Promise((resolve) => client.on('open', resolve));
    client.resume();
    expect(await received).toBe(LARGE);
    while (drained.at(-1) !== 0) await new Promise(setImmediate);
    client.close(1000);
    expect(await ended).toBe(1000);
  });

  test('aborts the request of a client that goes before the upgrade', async () => {
    const events: string[] = [];
    const { port } = await start(base, (app) =>
      app.ws('/*', {
        upgrade: (exchange) => {
          events.push('asked');
          exchange.onAborted = () => events.push('aborted');
        },
        open: () => void events.push('open'),
      }),
    );
    for (const end of ['destroy', 'end'] as const) {
      events.length = 0;
      const connection = await RawConnection.to(port);
      connection.write(handshake('/'));
      while (events.length === 0) await new Promise(setImmediate);
      connection.socket[end]();
      while (events.length === 1) await new Promise(setImmediate);
      expect(events).toEqual(['asked', 'aborted']);
    }
  });

  test('gives an ordinary request on the path of a WebSocket to the other routes, and one without a key', async () => {
    const { port } = await start(base, (app) =>
      app.ws('/', {}).http('/*', (exchange) => exchange.send(200, {}, 'http')),
    );
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('http');
    const connection = await RawConnection.to(port);
    connection.write(handshake('/').replace(/Sec-WebSocket-Key.*\r\n/, ''));
    await connection.responses(1);
    expect(connection.received).toMatch(/http$/);
  });

  test('rejects other versions of the protocol', async () => {
    const { port } = await start(base, (app) => app.ws('/', {}));
    const connection = await RawConnection.to(port);
    connection.write(handshake('/').replace('Version: 13', 'Version: 8'));
    expect((await connection.responses(1))[0]).toMatch(/426/);
    expect(connection.received).toMatch(/Sec-WebSocket-Version: 13\r\n/i);
  });

  test('has a limit for each route', async () => {
    const { port } = await start(base, (app) => {
      app.ws('/small', { maxPayload: 10, message: (ws) => void ws.send('ok', false, false) });
      app.ws('/large', { maxPayload: 1000, message: (ws) => void ws.send('ok', false, false) });
    });
    const small = openWebSocket(`http://127.0.0.1:${port}/small?a=b`);
    const large = openWebSocket(`http://127.0.0.1:${port}/large?a=b`);
    await Promise.all([small.status, large.status]);
    small.send('x'.repeat(100));
    large.send('x'.repeat(100));
    expect(await large.next()).toBe('ok');
    // node:http's base says why, with a close frame.
    expect(await small.closed).toBe(name === 'native' ? 1006 : 1009);
  });

  test('compresses where the route and the client do, and every message can be read', async () => {
    let made: { publish(topic: string, message: Buffer, isBinary: boolean, compress: boolean): boolean } | undefined;
    const { app, port } = await start(base, (test) =>
      test.ws('/*', {
        compresses: true,
        open: (ws) => void ws.subscribe('all'),
        message: (ws, message, isBinary) => {
          ws.send(message, isBinary, true);
          ws.send(`plain ${message.length}`, false, false);
          made!.publish('all', message, isBinary, true);
        },
      }),
    );
    made = app;
    const client = openWebSocket(`http://127.0.0.1:${port}/?a=b`);
    expect(await client.status).toBe(101);
    expect(client.socket.extensions).toContain('permessage-deflate');
    const plain = new WebSocket(`ws://127.0.0.1:${port}/`, { perMessageDeflate: false });
    const others: string[] = [];
    plain.on('message', (data) => others.push(String(data)));
    await new Promise((resolve) => plain.on('open', resolve));
    const texts = ['', 'a', 'ü'.repeat(5000), 'abc'.repeat(4000)];
    for (const text of texts) {
      client.send(text);
      const wanted = [text, `plain ${Buffer.byteLength(text)}`, text];
      expect([await client.next(), await client.next(), await client.next()]).toEqual(wanted);
    }
    while (others.length < texts.length) await new Promise(setImmediate);
    expect(others).toEqual(texts);
    // What is longer once it is decompressed ends the connection.
    client.send('x'.repeat(20_000));
    expect(await client.closed).toBe(name === 'native' ? 1006 : 1009);
    plain.terminate();
  });
});

// uWebSockets.js drops them. No client sends any before it has the response.
test('frames that come with the request to node:http are not lost', async () => {
  const [, base] = bases.find(([name]) => name === 'node')!;
  const received: string[] = [];
  const { port } = await start(base, (app) =>
    app.ws('/*', { message: (_ws, message) => void received.push(`${message}`) }),
  );
  const connection = await RawConnection.to(port);
  connection.socket.write(handshake('/') + clientFrame(opcodes.text, Buffer.from('hi')).toString('latin1'), 'latin1');
  while (received.length === 0) await new Promise(setImmediate);
  expect(received).toEqual(['hi']);
});
