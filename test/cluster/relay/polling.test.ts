import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Socket } from 'socket.io';
import type { Relay } from '../../../src/cluster/relay/relay.js';
import type { Session } from '../../../src/engine/session/session.js';
import { eventOf } from '../../engine/support/engine.js';
import { openPolling, RawPolling } from '../../engine/support/raw.js';
import { startWorker, stopWorkers, type TestWorker } from '../support/workers.js';

let owner: TestWorker;
let other: TestWorker;

beforeEach(async () => {
  owner = await startWorker();
  other = await startWorker();
});
afterEach(stopWorkers);

/** The same client, whose requests arrive at another worker. */
function over({ url }: TestWorker, { sid, open, headers }: RawPolling): RawPolling {
  return new RawPolling(`${url}&transport=polling&sid=${sid}`, open, headers);
}

test.each([
  ['the worker with the session', () => owner],
  ['another worker', () => other],
])('an event right behind the CONNECT reaches the application over %s', async (_name, way) => {
  const connected = eventOf<[Socket]>(owner.io as never, 'connection');
  const client = over(way(), await openPolling(owner.url));
  expect(await client.post('40')).toEqual([200, 'ok']);
  expect(await client.post('42["hello",1]')).toEqual([200, 'ok']);
  const [socket] = await connected;
  expect((await client.poll())[1]).toBe(`40{"sid":"${socket.id}"}`);
  expect(await client.post('42["hello",2]')).toEqual([200, 'ok']);
  expect(socket.connected).toBe(true);
});

test('the events of a client that does not wait for its CONNECT arrive in order', async () => {
  const received: unknown[] = [];
  owner.io.on('connection', (socket) => socket.onAny((_event, value) => received.push(value)));
  const client = await openPolling(owner.url);
  expect(await client.post('40')).toEqual([200, 'ok']);
  for (let number = 0; number < 20; number++) {
    await over(number % 2 ? owner : other, client).post(`42["hello",${number}]`);
  }
  expect(received).toEqual(Array.from({ length: 20 }, (_, number) => number));
});

test('the answer to a ping does not wait for a WebSocket', async () => {
  // Shorter than a first POST, which comes after the interval, would wait for a WebSocket: 900 ms.
  const worker = await startWorker({ pingInterval: 300, pingTimeout: 600 });
  const client = await openPolling(worker.url);
  for (let beat = 0; beat < 3; beat++) {
    expect(await client.poll()).toEqual([200, '2']);
    expect(await client.post('3')).toEqual([200, 'ok']);
  }
  expect(worker.engine.clientsCount).toBe(1);
});

test('a poll that a closing POST has overtaken is answered as if it had been first', async () => {
  const ended = new Promise((resolve) => {
    owner.engine.once('connection', (session: Session) => session.once('close', resolve));
  });
  const client = await openPolling(owner.url);
  expect(await client.post('1')).toEqual([200, 'ok']);
  expect(await ended).toBe('transport close');
  expect(owner.engine.clientsCount).toBe(0);
  expect(await over(other, client).poll()).toEqual([200, '6']);
  expect((await over(other, client).poll())[0]).toBe(400);
});

test('only a close packet makes up for an overtaken poll', async () => {
  const client = await openPolling(owner.url);
  const poll = client.poll();
  while (!owner.engine.clients[client.sid]?.transport.writable) await new Promise(setImmediate);
  expect(await client.post('1')).toEqual([200, 'ok']);
  expect(await poll).toEqual([200, '6']);
  expect((await client.poll())[0]).toBe(400);
  const broken = await openPolling(owner.url);
  await broken.post('x');
  expect((await broken.poll())[0]).toBe(400);
});

/** A client on polling whose every event is sent back. */
async function openEchoing(): Promise<RawPolling> {
  owner.io.on('connection', (socket) => socket.onAny((event) => socket.emit(event)));
  const client = await openPolling(owner.url);
  await client.post('40');
  expect((await client.poll())[1]).toMatch(/^40/);
  return client;
}

test('an answer to a poll does not overtake the response to the POST that caused it', async () => {
  const client = await openEchoing();
  owner.mesh.delayMs = 50;
  let isAnswered = false;
  const poll = client.poll().finally(() => {
    isAnswered = true;
  });
  while (!owner.engine.clients[client.sid]?.transport.writable) await new Promise(setImmediate);
  const post = over(other, client).post('42["echo"]');
  while (owner.engine.counters.received < 2) await new Promise(setImmediate);
  // The owner does not learn yet that the response to the POST is written.
  other.mesh.hold();
  expect(await post).toEqual([200, 'ok']);
  expect(isAnswered).toBe(false);
  other.mesh.release();
  expect(await poll).toEqual([200, '42["echo"]']);
});

test('a poll is answered although the worker that holds the POST of its client is gone', async () => {
  const client = await openEchoing();
  owner.mesh.hold();
  const poll = client.poll();
  const post = over(other, client).post('42["echo"]');
  post.catch(() => {});
  while (owner.engine.counters.received < 2) await new Promise(setImmediate);
  other.mesh.close();
  expect(await poll).toEqual([200, '42["echo"]']);
});

test('a client may abort a poll and send the next one to another worker', async () => {
  const client = await openPolling(owner.url);
  other.mesh.delayMs = 20;
  const aborting = new AbortController();
  const first = over(other, client).poll(aborting.signal);
  while (!owner.engine.clients[client.sid]?.transport.writable) await new Promise(setImmediate);
  aborting.abort();
  await expect(first).rejects.toThrow();
  expect((await client.poll())[0]).toBe(400);
});

test('a poll that its client has aborted may arrive after the next one', async () => {
  const client = await openPolling(owner.url);
  other.mesh.hold();
  const aborting = new AbortController();
  const first = over(other, client).poll(aborting.signal);
  while ((other.engine.relay as Relay).receivedConnections.length === 0) await new Promise(setImmediate);
  aborting.abort();
  await expect(first).rejects.toThrow();
  // The request of the first poll is still on its way to the owner, and the end of its connection behind it.
  expect(owner.engine.clients[client.sid]!.transport.writable).toBe(false);
  const next = client.poll();
  while (!owner.engine.clients[client.sid]!.transport.writable) await new Promise(setImmediate);
  while ((other.engine.relay as Relay).receivedConnections.length > 0) await new Promise(setImmediate);
  // Both in one read. If the end came more than 25 ms behind the request, this would be two polls at a time.
  other.mesh.release();
  expect(await next).toEqual([400, '']);
  expect(owner.engine.clientsCount).toBe(0);
});

test('a busy worker does not take its own delay for the delay of a WebSocket', async () => {
  const client = await openPolling(owner.url);
  const { sid } = client;
  const { hostname, port, host } = new URL(other.url);
  const connection = createConnection(Number(port), hostname);
  await once(connection, 'connect');
  const answer = client.post('40');
  while (!owner.engine.clients[sid]!.polling!.isReceiving) await new Promise(setImmediate);
  connection.write(
    `GET /socket.io/?EIO=4&transport=websocket&sid=${sid} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\n` +
      'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
  expect(String(await once(connection, 'data'))).toMatch(/^HTTP\/1.1 101/);
  expect(await answer).toEqual([200, 'ok']);
  expect([owner.engine.has(sid), other.engine.has(sid)]).toEqual([false, true]);
  connection.destroy();
});
