import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { whileActing } from '../support/until.js';
import { closeEngines, startEngine } from './support/engine.js';
import { openPolling } from './support/raw.js';

const open: Socket[] = [];

afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
  closeEngines();
});

/** Sends the beginning, and then one byte after the other, far apart. Resolves when the server ends the connection. */
function drip(port: number, beginning: string, rest: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  open.push(socket);
  socket.on('error', () => {});
  socket.resume();
  socket.write(beginning);
  let sent = 0;
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  return whileActing(500, () => socket.write(rest[sent++] ?? 'x'), closed);
}

test('requests that arrive too slowly are closed, and waiting polls are not', async () => {
  const { engine, port, url } = await startEngine();
  const polling = await openPolling(url);
  const poll = polling.poll();
  const poster = await openPolling(url);
  const path = new URL(poster.url).pathname + new URL(poster.url).search;
  const head = `Host: x\r\nContent-Type: text/plain\r\nContent-Length: 900000`;
  await Promise.all([
    drip(port, 'GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: x\r\nX-Slow: ', 'slow'.repeat(100)),
    drip(port, 'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nUpgrade: websocket\r\nX: ', 'x'.repeat(100)),
    drip(port, `POST ${path} HTTP/1.1\r\n${head}\r\n\r\n4`, 'x'.repeat(100)),
  ]);
  // The session whose body did not come has ended with it, the other has not.
  expect(engine.clientsCount).toBe(1);
  for (const session of Object.values(engine.clients)) session.send('still here');
  expect(await poll).toEqual([200, '4still here']);
});
