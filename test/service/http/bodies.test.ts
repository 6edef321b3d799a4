import { once } from 'node:events';
import { connect as openSocket, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { metric } from '../../support/metrics.js';
import { type RunningServer, startServer } from '../../support/server.js';
import { SECRET, tokenOf } from '../../support/tokens.js';

/** Who may say nothing is not listened to. */

const API_KEY = 'a-key-for-the-tests';
const MEGABYTE = 1024 * 1024;
const LARGE = 64 * MEGABYTE;
/** Bodies as long as that may be kept, so that it shows when they are. */
const MAX_PAYLOAD = String(2 * LARGE);

let server: RunningServer;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.stop();
});

/** Sends the head of a POST, and no body. */
function announce(credentials: string, length: number): Socket {
  const socket = openSocket(server.port, '127.0.0.1');
  sockets.push(socket);
  socket.write(
    `POST /api/rooms/closed/messages HTTP/1.1\r\nHost: a\r\n${credentials}Content-Length: ${length}\r\n\r\n`,
  );
  return socket;
}

async function firstAnswer(socket: Socket): Promise<{ status: number; code: string }> {
  let received = '';
  while (!received.includes('}')) received += String((await once(socket, 'data'))[0]);
  const [head = '', body = ''] = received.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), code: JSON.parse(body).code };
}

test('a caller that may not publish is rejected before the body arrives', async () => {
  server = await startServer({ WORKERS: '1', API_KEY, JWT_SECRET: SECRET });
  const allowed = await tokenOf({ sub: 'eve', rooms: { publish: ['open'] } });
  expect(await firstAnswer(announce('', 1000))).toEqual({ status: 401, code: 'UNAUTHORIZED' });
  expect(await firstAnswer(announce('Authorization: Bearer wrong\r\n', 1000))).toEqual({
    status: 401,
    code: 'TOKEN_INVALID',
  });
  expect(await firstAnswer(announce(`Authorization: Bearer ${allowed}\r\n`, 1000))).toEqual({
    status: 403,
    code: 'ROOM_FORBIDDEN',
  });
});

test('the rest of a rejected body is dropped, and the connection serves the next request', async () => {
  server = await startServer({ WORKERS: '1', API_KEY, MAX_PAYLOAD });
  const body = Buffer.alloc(LARGE, 'x');
  const socket = announce('Authorization: Bearer wrong\r\n', LARGE);
  expect(await firstAnswer(socket)).toEqual({ status: 401, code: 'UNAUTHORIZED' });
  await new Promise((resolve) => socket.write(body.subarray(MEGABYTE), resolve));
  const [external] = await metric(server.url, 'nodejs_external_memory_bytes');
  expect(external).toBeLessThan(LARGE / 2);
  socket.write(body.subarray(0, MEGABYTE));
  socket.write(`GET /api/rooms/a/messages HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${API_KEY}\r\n\r\n`);
  expect((await once(socket, 'data')).toString()).toMatch(/^HTTP\/1\.1 200 /);
});
