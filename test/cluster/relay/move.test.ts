import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import {
  type ChatClient,
  connect,
  connected,
  disconnectAll,
  expectOk,
  upgraded,
  workersOf,
} from '../../support/clients.js';
import { sharedServer } from '../../support/server.js';
import { pass } from '../../support/until.js';

const server = sharedServer({ WORKERS: '4' });
afterEach(disconnectAll);

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

test('a poll for a session that has moved and ended is answered', async () => {
  const clients = Array.from({ length: 10 }, () => connect(server.url));
  await Promise.all(clients.map(upgraded));
  const workers = await workersOf(clients);
  const moved = clients.filter((client, index) => handshakeWorker(client) !== workers[index]);
  expect(moved.length).toBeGreaterThan(0);
  for (const client of moved) {
    const url = `${server.url}/socket.io/?EIO=4&transport=polling&sid=${client.io.engine.id}`;
    client.disconnect();
    let status = 0;
    // Until the server has heard of the end, the session is one that has its WebSocket.
    do {
      const response = await fetch(url, { signal: AbortSignal.timeout(30_000) });
      status = response.status;
      if ((await response.text()).includes('Session ID unknown')) break;
    } while (status === 400);
    expect(status).toBe(400);
  }
});

test('a session outlives the WebSocket that it moves for', async () => {
  const url = `${server.url}/socket.io/?EIO=4&transport=polling`;
  for (let round = 0; round < 30; round++) {
    const { sid } = JSON.parse((await (await fetch(url)).text()).slice(1)) as { sid: string };
    const socket = createConnection(server.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `GET /socket.io/?EIO=4&transport=websocket&sid=${sid} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n` +
        'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    // The end goes out with the request or soon after it, before or after the session has moved.
    await pass(round % 3);
    socket.resetAndDestroy();
    const signal = AbortSignal.timeout(30_000);
    const post = await fetch(`${url}&sid=${sid}`, { method: 'POST', body: '40', signal });
    expect([round, post.status, await post.text()]).toEqual([round, 200, 'ok']);
    const poll = await fetch(`${url}&sid=${sid}`, { signal });
    expect(await poll.text()).toContain('40{');
    await fetch(`${url}&sid=${sid}`, { method: 'POST', body: '1' });
  }
});
