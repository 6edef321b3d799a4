import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import {
  type ChatClient,
  connect,
  connected,
  disconnectAll,
  expectOk,
  upgraded,
  workersOf,
} from '../support/clients.js';
import { type RunningServer, startServer } from '../support/server.js';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer({ WORKERS: '4' });
});
afterEach(disconnectAll);
afterAll(() => server.stop());

/** The worker that a client's handshake came to, as its session's id tells. */
const handshakeWorker = (client: ChatClient) => Number((client.io.engine.id ?? '').split('.')[0]);

test('sessions move to the worker that their WebSocket came to, and lose nothing on the way', async () => {
  const clients = Array.from({ length: 40 }, () => connect(server.url));
  // Sent before anybody is connected: they travel over polling, with the session or after it.
  const early = clients.map((client, index) => client.emitWithAck('echo', index));
  await Promise.all(clients.map(upgraded));
  expect(await Promise.all(early)).toEqual(clients.map((_, index) => index));
  const workers = await workersOf(clients);
  const moved = clients.filter((client, index) => handshakeWorker(client) !== workers[index]);
  // Three of four WebSockets come to another worker than their handshake; nearly all of them move.
  expect(moved.length).toBeGreaterThan(10);
});

test('a client that never asks for a WebSocket is let in all the same', async () => {
  const client = connect(server.url, { transports: ['polling'] });
  await connected(client);
  expect(expectOk(await client.emitWithAck('join', 'hall')).worker).toBe(handshakeWorker(client));
});

test('a client that reconnects gets a new session, wherever the old one had moved', async () => {
  const client = connect(server.url, { reconnectionDelay: 10 });
  for (let round = 0; round < 5; round++) {
    await upgraded(client);
    expect(await client.emitWithAck('echo', round)).toBe(round);
    const again = new Promise<void>((resolve) => client.once('connect', resolve));
    client.io.engine.close();
    await again;
  }
});
