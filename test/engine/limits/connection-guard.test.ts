import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { Engine } from '../../../src/engine/engine.js';
import { ConnectionGuard } from '../../../src/engine/limits/connection-guard.js';
import { App } from '../../../src/engine/sockets.js';
import { until } from '../../support/until.js';
import { closeEngines, listen } from '../support/engine.js';
import { closeWebSockets, openWebSocket } from '../support/raw.js';

const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  closeWebSockets();
  closeEngines();
});

test('connections beyond the maximum are rejected; the change is reported once each way', () => {
  const guard = new ConnectionGuard(100);
  const changes: boolean[] = [];
  guard.onChange = (isFull) => changes.push(isFull);
  for (let n = 0; n < 100; n++) expect(guard.opened()).toBe(true);
  expect(changes).toEqual([]);
  for (let n = 0; n < 10; n++) expect(guard.opened()).toBe(false);
  expect([guard.refused, guard.open, changes]).toEqual([10, 110, [true]]);
  for (let n = 0; n < 10; n++) guard.closed();
  // A client that goes makes room for one that comes, which changes nothing.
  guard.closed();
  expect(guard.opened()).toBe(true);
  expect(changes).toEqual([true]);
  for (let n = 0; n < 6; n++) guard.closed();
  expect(changes).toEqual([true, false]);
});

test('the maximum is below what the process may open', () => {
  const { max } = new ConnectionGuard();
  expect(max).toBeGreaterThan(0);
});

test('an engine closes connections beyond the maximum, and accepts others once there is room', async () => {
  const engine = new Engine();
  const guard = new ConnectionGuard(3);
  Object.assign(engine, { connectionGuard: guard });
  const app = App();
  engine.attach(app);
  const port = await listen(app);
  const open = async () => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  const webSocket = openWebSocket(`http://127.0.0.1:${port}/socket.io/?EIO=4`);
  expect(await webSocket.status).toBe(101);
  await open();
  const third = await open();
  await until(() => guard.open === 3);
  const refused = await open();
  await once(refused, 'close');
  expect(guard.refused).toBe(1);
  // A WebSocket counts until it is closed.
  webSocket.socket.close();
  await webSocket.closed;
  third.destroy();
  await until(() => guard.open === 1);
  expect(await openWebSocket(`http://127.0.0.1:${port}/socket.io/?EIO=4`).status).toBe(101);
  expect([guard.open, guard.refused]).toEqual([2, 1]);
  engine.close();
});
