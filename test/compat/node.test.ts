import { createServer } from 'node:http';
import { expect, test } from '@jest/globals';
import { missingInHttp } from '../../src/compat/node-http.js';
import { missingInNet, tcpHandleOf } from '../../src/compat/node-net.js';

test('this version of Node.js has the private parts of node:http that the bridge relies on', () => {
  expect(missingInHttp()).toEqual([]);
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
