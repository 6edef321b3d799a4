import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { NodeApp } from '../../../src/engine/node/app.js';
import { closeApps, start } from '../bases/support/bases.js';

afterEach(closeApps);

/** More than the kernel takes at once. */
const PART = 'x'.repeat(20_000_000);
const PARTS = 15;

test('a streamed response has as many listeners after many waits for its client as after the first one', async () => {
  const server = createServer();
  let response: ServerResponse | undefined;
  const base = () => {
    const app = NodeApp.on(server, false);
    server.on('request', (message, made) => {
      response = made;
      app.onRequest(message, made);
    });
    return app;
  };
  const listeners: number[] = [];
  const { port } = await start(base, (app) =>
    app.http('/', async (exchange) => {
      const body = exchange.stream!(200, {});
      for (let n = 0; n < PARTS; n++) {
        await body.write(PART);
        listeners.push(response!.listenerCount('close') + response!.listenerCount('drain'));
      }
      body.end();
    }),
  );
  const client = connect(port, '127.0.0.1');
  client.resume();
  client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await new Promise((resolve) => client.on('close', resolve));
  expect(listeners).toEqual(Array(PARTS).fill(listeners[0]));
});
