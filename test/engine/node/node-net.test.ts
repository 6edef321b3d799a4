import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import {
  missingInNet,
  missingInSocket,
  responseOn,
  socketOn,
  stopReading,
  tcpHandleOf,
  unsentBytes,
} from '../../../src/engine/node/node-net.private.js';
import { until } from '../../support/until.js';

test('node:http says on the socket which request it is answering', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [{ socket }, response] = await once(server, 'request');
  expect(responseOn(socket)).toBe(response);
  response.end();
  await once(response, 'finish');
  await new Promise(setImmediate);
  expect(responseOn(socket)).toBe(null);
  client.destroy();
  server.close();
});

test('this version of Node.js has the private parts of node:net that the takeover of a port relies on', async () => {
  const server = createServer();
  expect(missingInNet(server)).toEqual([]);
  expect(tcpHandleOf(server)).toBeUndefined();
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  expect(tcpHandleOf(server)).toBeDefined();
  await new Promise((resolve) => server.close(resolve));
});

test('this version of Node.js has the private parts of node:net that tell the progress of a long write', async () => {
  const server = createTcpServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [other] = await once(server, 'connection');
  const length = 64 * 1024 * 1024;
  socket.write(Buffer.alloc(length));
  socket.write('more');
  expect(missingInSocket(socket)).toEqual([]);
  const before = unsentBytes(socket);
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThanOrEqual(length + 4);
  other.resume();
  await once(socket, 'drain');
  expect(unsentBytes(socket)).toBe(0);
  for (const end of [socket, other]) end.destroy();
  server.close();
});

test('what comes after a connection was stopped, in the middle of a chunk, stays in the kernel', async () => {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  const chunks: string[] = [];
  socket.on('data', (chunk) => {
    chunks.push(`stopped: ${chunk}`);
    stopReading(socket);
  });
  client.write('one');
  await until(() => chunks.length > 0);
  client.write('two');
  // A connection that is made later is accepted later.
  const other = connect(port, '127.0.0.1');
  await once(server, 'connection');
  const { _handle } = socket as unknown as { _handle: object };
  const next = socketOn(_handle).on('data', (chunk) => chunks.push(`next: ${chunk}`));
  next.resume();
  await until(() => chunks.length > 1);
  expect(chunks).toEqual(['stopped: one', 'next: two']);
  for (const end of [next, client, other]) end.destroy();
  server.close();
});
