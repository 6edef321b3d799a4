import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { Engine } from '../../../src/engine/engine.js';
import { App } from '../../../src/engine/sockets.js';
import { closeEngines, listen } from '../support/engine.js';

const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  closeEngines();
});

const CLIENTS = 1500;
const upgrade =
  'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const poll = 'GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: x\r\n\r\n';

/** The first line of what the server sends; undefined if it closes the connection before. */
function firstLine(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve) => {
    socket.once('data', (data) => resolve(data.toString('latin1').split('\r\n', 1)[0]));
    socket.once('close', () => resolve(undefined));
    socket.on('error', () => {});
  });
}

test.each([
  ['WebSockets', upgrade, 'HTTP/1.1 101 Switching Protocols'],
  ['clients on polling', poll, 'HTTP/1.1 200 OK'],
])('%s of one address that all connect in the same turn are all answered', async (_, request, expected) => {
  const engine = new Engine();
  const app = App();
  engine.attach(app);
  const port = await listen(app);
  for (let n = 0; n < CLIENTS; n++) sockets.push(connect(port, '127.0.0.1'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const answers = sockets.map(firstLine);
  for (const socket of sockets) socket.write(request);
  const lines = await Promise.all(answers);
  expect(lines.filter((line) => line !== expected)).toEqual([]);
  expect(engine.requestGuard.floods).toBe(0);
  engine.close();
});
