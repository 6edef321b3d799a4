import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import { maxPayloadOf } from '../../../src/compat/ws/max-payload.js';

const http = createServer();

afterEach(() => {
  http.closeAllConnections();
  http.close();
});

/** The oldest copy of ws that a package here brings along. */
const { Server: OldServer } = createRequire(createRequire(import.meta.url).resolve('socket.io-client-v2/package.json'))(
  'ws',
) as { Server: typeof WebSocketServer };

test('the limit of a WebSocketServer is on the socket once it has accepted a client', async () => {
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  for (const [Class, maxPayload] of [
    [WebSocketServer, 12_345],
    [WebSocketServer, 0],
    [OldServer, 54_321],
  ] as const) {
    const server = new Class({ noServer: true, maxPayload });
    const found = new Promise((resolve) => {
      http.once('upgrade', (request, socket: Duplex, head: Buffer) => {
        const before = maxPayloadOf(socket);
        server.handleUpgrade(request, socket as never, head, () => {});
        resolve([before, maxPayloadOf(socket)]);
      });
    });
    const ws = new WebSocket(`ws://127.0.0.1:${port}`);
    ws.on('error', () => {});
    expect(await found).toEqual([undefined, maxPayload]);
    ws.terminate();
  }
});

test('other sockets have none', () => {
  expect(maxPayloadOf({})).toBeUndefined();
  expect(maxPayloadOf({ [Symbol('websocket')]: undefined })).toBeUndefined();
  expect(maxPayloadOf({ [Symbol('websocket')]: { _receiver: { _maxPayload: 'x' } } })).toBeUndefined();
});
