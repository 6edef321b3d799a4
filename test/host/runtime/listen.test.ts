import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { App } from '../../../src/engine/sockets.js';
import { listenOn } from '../../../src/host/runtime/own-port.js';

const HOST = '127.0.0.1';
const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Takes a port as other programs do, without sharing it. */
async function takePort() {
  const server = createServer().listen(0, HOST);
  closers.push(() => server.close());
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

function startApp() {
  const app = App();
  closers.push(() => app.close());
  return app;
}

test('a worker listens on a port that another process had for a moment', async () => {
  const { server, port } = await takePort();
  const listening = listenOn(startApp(), HOST, port);
  server.close();
  expect(await listening).toBeDefined();
});

test('a worker gives up a port that stays taken', async () => {
  const { port } = await takePort();
  expect(await listenOn(startApp(), HOST, port)).toBeUndefined();
});
