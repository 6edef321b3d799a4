import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { portableSockets } from '../../src/portable/index.js';
import type { PortableWebSocket } from '../../src/portable/web-socket/web-socket.js';
import { closeWebSockets, openWebSocket } from '../engine/support/raw.js';
import { closeConnections, RawConnection } from '../engine/support/tcp.js';
import { handshake, opcodes, RawWebSocket } from './support/frames.js';
import { closeApps, sources, start } from './support/sources.js';

/** More than the buffers of the kernel take. */
const LARGE = 20_000_000;

afterEach(() => {
  closeWebSockets();
  closeConnections();
  closeApps();
});

describe.each(sources)('%s sockets', (name, sockets) => {
  test('a WebSocket has the headers of its response, the protocol and the data that were given', async () => {
    const opened: unknown[] = [];
    const { port } = await start(sockets, (app) =>
      app.ws<{ tag: string }>('/*', {
        upgrade: (res, req, context) => {
          const [key, protocol] = [req.getHeader('sec-websocket-key'), req.getHeader('sec-websocket-protocol')];
          res.writeStatus('101 Switching Protocols').writeHeader('X-A', '1').writeHeader('X-A', '2');
          res.upgrade({ tag: req.getUrl() }, key, protocol, '', context);
          // It is open before the call returns.
          opened.push('returned');
        },
        open: (ws) => {
          opened.push((ws as unknown as { tag: string }).tag);
          ws.send('hello');
        },
      }),
    );
    const raw = await RawWebSocket.to(port, '/path?q', 'Sec-WebSocket-Protocol: one, two');
    expect(opened).toEqual(['/path', 'returned']);
    expect(raw.response).toMatch(/^HTTP\/1.1 101 Switching Protocols\r\n/);
    expect(raw.response).toMatch(/\r\nX-A: 1\r\nX-A: 2\r\n/);
    expect(raw.response).toMatch(/\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/i);
    expect(raw.response).toMatch(/\r\nSec-WebSocket-Protocol: one\r\n/i);
    expect((await raw.next()).payload.toString()).toBe('hello');
  });

  test('an upgrade can be accepted or rejected later', async () => {
    const { port } = await start(sockets, (app) =>
      app.ws('/*', {
        upgrade: (res, req, context) => {
          const [isWanted, key] = [req.getUrl() === '/yes', req.getHeader('sec-websocket-key')];
          res.onAborted(() => {});
          setImmediate(() =>
            res.cork(() => {
              if (isWanted) res.upgrade({}, key, '', '', context);
              else res.writeStatus('403 Forbidden').end('not you', true);
            }),
          );
        },
        open: (ws) => void ws.send('hello'),
      }),
    );
    const raw = await RawWebSocket.to(port, '/yes');
    expect((await raw.next()).payload.toString()).toBe('hello');
    const connection = await RawConnection.to(port);
    connection.write(handshake('/no'));
    expect(await connection.closed).toMatch(/^HTTP\/1.1 403 Forbidden\r\n[\s\S]*not you$/);
  });

  test('a WebSocket that is accepted in a cork may send more at once than its client reads', async () => {
    const drained: number[] = [];
    const { port } = await start(sockets, (app) =>
      app.ws('/*', {
        upgrade: (res, req, context) =>
          void res.cork(() => res.upgrade({}, req.getHeader('sec-websocket-key'), '', '', context)),
        open: (ws) => void ws.send(Buffer.alloc(LARGE), true),
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

  test('a client that goes before the upgrade aborts its request', async () => {
    const events: string[] = [];
    const { port } = await start(sockets, (app) =>
      app.ws('/*', {
        upgrade: (res) => {
          events.push('asked');
          res.onAborted(() => events.push('aborted'));
        },
        open: () => void events.push('open'),
      }),
    );
    const connection = await RawConnection.to(port);
    connection.write(handshake('/'));
    while (events.length === 0) await new Promise(setImmediate);
    connection.socket.destroy();
    while (events.length === 1) await new Promise(setImmediate);
    expect(events).toEqual(['asked', 'aborted']);
  });

  test('an ordinary request on the path of a WebSocket goes to the other routes, and so does one without a key', async () => {
    const { port } = await start(sockets, (app) => {
      app.ws('/', {});
      app.any('/*', (res) => void res.end('http'));
    });
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('http');
    const connection = await RawConnection.to(port);
    connection.write(handshake('/', 'Connection: close').replace(/Sec-WebSocket-Key.*\r\n/, ''));
    await connection.responses(1);
    expect(connection.received).toMatch(/http$/);
  });

  test('two routes have the limits of their own', async () => {
    const { port } = await start(sockets, (app) => {
      app.ws('/small', { maxPayloadLength: 10, message: (ws) => void ws.send('ok') });
      app.ws('/large', { maxPayloadLength: 1000, message: (ws) => void ws.send('ok') });
    });
    const small = openWebSocket(`http://127.0.0.1:${port}/small?a=b`);
    const large = openWebSocket(`http://127.0.0.1:${port}/large?a=b`);
    await Promise.all([small.status, large.status]);
    small.send('x'.repeat(100));
    large.send('x'.repeat(100));
    expect(await large.next()).toBe('ok');
    // The portable sockets say why, with a close frame.
    expect(await small.closed).toBe(name === 'native' ? 1006 : 1009);
  });

  test('compression is agreed on where the route has it, and every message can be read', async () => {
    const { port } = await start(sockets, (app) =>
      app.ws('/*', {
        compression: 1,
        open: (ws) => void ws.subscribe('all'),
        message: (ws, message, isBinary) => {
          const copy = Buffer.from(Buffer.from(message as ArrayBuffer));
          ws.send(copy, isBinary, true);
          ws.send(`plain ${copy.length}`, false, false);
          app.publish('all', copy, isBinary, true);
        },
      }),
    );
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
      expect([await client.next(), await client.next(), await client.next()]).toEqual([
        text,
        `plain ${Buffer.byteLength(text)}`,
        text,
      ]);
    }
    while (others.length < texts.length) await new Promise(setImmediate);
    expect(others).toEqual(texts);
    plain.terminate();
  });
});

// uWebSockets.js drops them. No client sends any before it has the response.
test('on portable sockets, frames that come with the request are not lost', async () => {
  const received: string[] = [];
  const { port } = await start(portableSockets, (app) =>
    app.ws('/*', { message: (_ws, message) => void received.push(Buffer.from(message as ArrayBuffer).toString()) }),
  );
  const connection = await RawConnection.to(port);
  const frame = Buffer.from([0x80 | opcodes.text, 0x80 | 2, 0, 0, 0, 0, 0x68, 0x69]).toString('latin1');
  connection.socket.write(handshake('/') + frame, 'latin1');
  while (received.length === 0) await new Promise(setImmediate);
  expect(received).toEqual(['hi']);
});

test('no limit for slow readers of responses holds for a WebSocket that was accepted in a cork', async () => {
  const opened: Socket[] = [];
  const { port } = await start(portableSockets, (app) =>
    app.ws('/*', {
      upgrade: (res, req, context) =>
        void res.cork(() => res.upgrade({}, req.getHeader('sec-websocket-key'), '', '', context)),
      open: (ws) => {
        opened.push((ws as PortableWebSocket).socket);
        ws.send(Buffer.alloc(LARGE), true);
      },
    }),
  );
  const connection = await RawConnection.to(port, false);
  connection.write(handshake('/'));
  while (opened.length === 0) await new Promise(setImmediate);
  const [socket] = opened;
  await new Promise(setImmediate);
  expect(socket!.writableLength).toBeGreaterThan(0);
  expect([socket!.timeout ?? 0, socket!.listenerCount('timeout')]).toEqual([0, 0]);
});
