import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Server as HttpServer, IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import type { Engine } from '../../../src/engine/engine.js';
import { Server } from '../../../src/index.js';
import { clientFrame, frameHead, opcodes } from '../../../src/server/upgrade/frames.js';
import { nextEvent } from '../../support/clients.js';
import { until } from '../../support/until.js';
import { classes, closeAll, closeLater, run } from '../support/servers.js';

/** How much the clients of the application's own WebSocket servers may make the process collect. */

afterEach(closeAll);

const KIB = 1024;
const MIB = 1024 * KIB;

/** A WebSocket on which a test writes bytes of its own. */
async function rawWebSocket(port: number, path = '/other'): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  closeLater({ close: () => socket.destroy() });
  socket.on('error', () => {});
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  );
  await once(socket, 'data');
  return socket;
}

/** Accepts WebSockets as a library that gjallar does not know would. */
function acceptAll(http: HttpServer, accepted: (socket: Duplex) => void): void {
  http.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    if (!request.url?.startsWith('/other')) return;
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    socket.on('error', () => {});
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    accepted(socket);
  });
}

describe.each(classes)('a WebSocketServer with maxPayload beside %s', (_name, Class) => {
  describe.each([
    ['at once', (http: HttpServer) => new WebSocketServer({ server: http, path: '/other', maxPayload: 64 * KIB })],
    [
      'later',
      (http: HttpServer) => {
        const other = new WebSocketServer({ noServer: true, maxPayload: 64 * KIB });
        http.on('upgrade', (request, socket, head) => {
          if (request.url !== '/other') return;
          setImmediate(() =>
            other.handleUpgrade(request, socket, head, (inside) => other.emit('connection', inside, request)),
          );
        });
        return other;
      },
    ],
  ])('that accepts clients %s', (_when, serve) => {
    test('ends a connection when the head of a longer message arrives', async () => {
      const { http, port } = await run(Class);
      const other = serve(http);
      for (let times = 0; times < 3; times++) {
        const accepted = once(other, 'connection') as Promise<[WebSocket]>;
        const socket = await rawWebSocket(port);
        const [inside] = await accepted;
        const failed = nextEvent<[Error]>(inside as never, 'error');
        const closed = nextEvent<[number]>(inside as never, 'close');
        // 10 KB of 10 MB: stock reads the head alone.
        socket.write(frameHead(opcodes.binary, 10 * MIB));
        socket.write(Buffer.alloc(10 * KIB));
        expect((await failed)[0].message).toBe('Max payload size exceeded');
        expect((await closed)[0]).toBe(1006);
      }
    });

    test('gets messages that are as long as it accepts, and no longer ones', async () => {
      const { http, port } = await run(Class);
      const other = serve(http);
      const accepted = once(other, 'connection') as Promise<[WebSocket]>;
      const ws = new WebSocket(`ws://127.0.0.1:${port}/other`);
      closeLater({ close: () => ws.terminate() });
      const [[inside]] = await Promise.all([accepted, once(ws, 'open')]);
      const lengths: number[] = [];
      inside.on('message', (data: Buffer) => lengths.push(data.length));
      const failed = nextEvent(inside as never, 'error');
      ws.send(Buffer.alloc(64 * KIB));
      ws.send(Buffer.alloc(64 * KIB + 1));
      await failed;
      expect(lengths).toEqual([64 * KIB]);
    });
  });

  test('may accept longer messages than others on the port', async () => {
    const { http, port } = await run(Class);
    const limits = { '/small': 10 * KIB, '/medium': 3 * MIB, '/large': 20 * MIB };
    const servers = new Map(
      Object.entries(limits).map(([path, maxPayload]) => [path, new WebSocketServer({ noServer: true, maxPayload })]),
    );
    http.on('upgrade', (request, socket, head) => {
      servers.get(request.url!)?.handleUpgrade(request, socket, head, (inside) => {
        inside.on('error', () => {});
        inside.on('message', (data: Buffer) => inside.send(String(data.length)));
      });
    });
    for (const [path, limit] of Object.entries(limits)) {
      const ws = new WebSocket(`ws://127.0.0.1:${port}${path}`);
      closeLater({ close: () => ws.terminate() });
      await once(ws, 'open');
      ws.send(Buffer.alloc(limit));
      expect(String((await once(ws, 'message'))[0])).toBe(String(limit));
    }
  });
});

describe('a library whose limit is not known', () => {
  test('gets messages of 1 MiB, and the end of the connection for longer ones', async () => {
    const { http, port } = await run(Server);
    let received = 0;
    const count = (bytes: Buffer) => {
      received += bytes.length;
    };
    acceptAll(http, (socket) => socket.on('data', count));
    const socket = await rawWebSocket(port);
    socket.write(clientFrame(opcodes.binary, Buffer.alloc(MIB)));
    await until(() => received > MIB);
    const closed = once(socket, 'close');
    socket.write(frameHead(opcodes.binary, MIB + 1));
    await closed;
  });

  test('gets longer ones with webSocketMaxPayload', async () => {
    const { http, port } = await run(Server, undefined, { webSocketMaxPayload: 3_000_000 });
    let received = 0;
    const count = (bytes: Buffer) => {
      received += bytes.length;
    };
    acceptAll(http, (socket) => socket.on('data', count));
    const socket = await rawWebSocket(port);
    socket.write(clientFrame(opcodes.binary, Buffer.alloc(2_900_000)));
    await until(() => received > 2_900_000);
    const closed = once(socket, 'close');
    socket.write(frameHead(opcodes.binary, 3_000_001));
    await closed;
  });

  test('counts in the budget while it does not read, and the largest goes first', async () => {
    const { http, io, port } = await run(Server, undefined, { maxBuffered: 4 * MIB });
    const engine = io.engine as unknown as Engine;
    const inside: Duplex[] = [];
    acceptAll(http, (socket) => inside.push(socket));
    const outside: Socket[] = [];
    for (const messages of [1, 3]) {
      const before = engine.incoming.total;
      const socket = await rawWebSocket(port);
      outside.push(socket);
      for (let sent = 0; sent < messages; sent++) socket.write(clientFrame(opcodes.binary, Buffer.alloc(900 * KIB)));
      await until(() => engine.incoming.total >= before + messages * 900 * KIB);
    }
    const closed = once(outside[1]!, 'close');
    (await rawWebSocket(port)).write(clientFrame(opcodes.binary, Buffer.alloc(900 * KIB)));
    await closed;
    expect(outside[0]!.destroyed).toBe(false);
    await until(() => engine.incoming.total < 2 * MIB);
    inside[0]!.resume();
    await until(() => engine.incoming.total < MIB);
    expect(engine.bufferBudget.closedIncoming).toBe(1);
  });
});

test('an option lowers the limit of ws too', async () => {
  const { http, port, url } = await run(Server, undefined, { webSocketMaxPayload: 50_000 });
  const other = new WebSocketServer({ server: http, path: '/other' });
  const accepted = once(other, 'connection') as Promise<[WebSocket]>;
  const ws = new WebSocket(`ws://127.0.0.1:${port}/other`);
  ws.on('error', () => {});
  const [[inside]] = await Promise.all([accepted, once(ws, 'open')]);
  ws.send(Buffer.alloc(50_000));
  expect((await once(inside, 'message'))[0].length).toBe(50_000);
  const closed = once(inside, 'close');
  ws.send(Buffer.alloc(50_001));
  expect((await closed)[0]).toBe(1006);
  // Socket.IO has limits of its own.
  const one = closeLater((await import('socket.io-client')).io(url, { transports: ['websocket'], forceNew: true }));
  await nextEvent(one, 'connect');
});
