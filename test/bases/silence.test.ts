import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { WebSocketRoute } from '../../src/portable/web-socket/route.js';
import { Topics } from '../../src/portable/web-socket/topics.js';
import { Writer } from '../../src/portable/web-socket/writer.js';
import type { WebSocketBehavior } from '../../src/sockets.js';
import { closeConnections } from '../engine/support/tcp.js';
import { clientFrame, opcodes, RawWebSocket } from './support/frames.js';

/**
 * When a portable WebSocket is closed because its client is silent. The tests say what time it is: no pause of this
 * process can change what they see.
 */

const IDLE_SECONDS = 8;
const HALF = (IDLE_SECONDS * 1000) / 2;
const PONG = clientFrame(opcodes.pong, Buffer.alloc(0));

const server = createServer();

beforeEach(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(async () => {
  closeConnections();
  server.removeAllListeners('upgrade');
  await new Promise((resolve) => server.close(resolve));
});

/** A route that accepts each request, and a client of it that answers nothing by itself. */
async function connect(behavior: WebSocketBehavior<unknown> = {}) {
  const events: string[] = [];
  const happened = async (count: number) => {
    while (events.length < count) await new Promise(setImmediate);
    return events;
  };
  const route = new WebSocketRoute(
    {
      idleTimeout: IDLE_SECONDS,
      pong: () => void events.push('pong'),
      close: (_ws, code) => void events.push(`close ${code}`),
      ...behavior,
    },
    new Topics(),
    new Writer(),
  );
  server.on('upgrade', (message, socket, head) =>
    route.accept({ message, socket: socket as Socket, head, headers: [] }, {}, ''),
  );
  const client = await RawWebSocket.to((server.address() as AddressInfo).port);
  return { route, client, events, happened };
}

test('after half of the idle time a ping is sent, and a client that does not answer it is closed', async () => {
  const { route, client, happened } = await connect();
  route.sweep(0);
  route.sweep(HALF);
  expect((await client.next()).opcode).toBe(opcodes.ping);
  route.sweep(2 * HALF);
  expect(await happened(1)).toEqual(['close 1006']);
  await client.closed;
});

test('a pause of the process ends no WebSocket that has not been pinged', async () => {
  const { route, client, events, happened } = await connect();
  route.sweep(0);
  // An hour in which nothing was read, written or looked at.
  const later = 3_600_000;
  route.sweep(later);
  expect((await client.next()).opcode).toBe(opcodes.ping);
  client.send(PONG);
  await happened(1);
  route.sweep(later + HALF);
  route.sweep(later + 2 * HALF);
  expect((await client.next()).opcode).toBe(opcodes.ping);
  expect([events, route.sockets.size]).toEqual([['pong'], 1]);
});

test('an answer counts once: the next silence needs a ping of its own', async () => {
  const { route, client, events, happened } = await connect();
  route.sweep(0);
  route.sweep(HALF);
  client.send(PONG);
  await happened(1);
  route.sweep(2 * HALF);
  route.sweep(4 * HALF);
  expect([events, route.sockets.size]).toEqual([['pong'], 1]);
  route.sweep(5 * HALF);
  expect(await happened(2)).toEqual(['pong', 'close 1006']);
});

test('without automatic pings, silence alone closes', async () => {
  const { route, client, happened } = await connect({ sendPingsAutomatically: false });
  route.sweep(0);
  route.sweep(2 * HALF - 1);
  expect(route.sockets.size).toBe(1);
  route.sweep(2 * HALF);
  expect(await happened(1)).toEqual(['close 1006']);
  await client.closed;
  expect(client.frames).toEqual([]);
});

test('no idle time, no ping', async () => {
  const { route, events } = await connect({ idleTimeout: 0 });
  route.sweep(0);
  route.sweep(3_600_000);
  route.sweep(7_200_000);
  expect([events, route.sockets.size]).toEqual([[], 1]);
});
