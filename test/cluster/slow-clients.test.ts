import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { idPrefixOf } from '../../src/base/worker-name.js';
import { Mesh } from '../../src/cluster/mesh/mesh.js';
import { Node } from '../../src/cluster/node.js';
import { Relay } from '../../src/cluster/relay/relay.js';
import type { EngineOptions } from '../../src/engine/options.js';
import { closeEngines, eventOf, startEngine } from '../engine/support/engine.js';
import { pacedSend } from '../engine/support/paced-send.js';
import { closeWebSockets, openPolling } from '../engine/support/raw.js';
import { upgradeAt } from '../engine/support/upgrade.js';
import { temporaryFolder } from '../support/folder.js';

const LIMIT = 200_000;
const COUNT = 25_000;
let directory: string;
const meshes: Mesh[] = [];

beforeEach(async () => {
  directory = temporaryFolder();
});
afterEach(async () => {
  closeWebSockets();
  closeEngines();
  for (const mesh of meshes.splice(0)) mesh.close();
});

async function startWorker(id: number, options: EngineOptions) {
  const mesh = new Mesh(id, directory);
  await mesh.listen();
  await mesh.join(meshes.map((other) => other.id));
  meshes.push(mesh);
  const worker = await startEngine({ maxBackpressure: LIMIT, ...options, idPrefix: idPrefixOf(id) });
  worker.engine.relay = new Relay(new Node(mesh, 'machine0', true), worker.engine);
  return worker;
}

/** A session of one worker whose WebSocket another one holds, and whose client has stopped reading. */
async function startRelayed(options: EngineOptions = {}) {
  const owner = await startWorker(1, options);
  const receiver = await startWorker(2, options);
  const opened = owner.nextSession();
  const polling = await openPolling(owner.url);
  // A session that says something over polling, and goes on doing so, stays where it is.
  await polling.post('4hello');
  const session = await opened;
  const client = await upgradeAt(receiver.url, polling, session);
  client.socket.pause();
  return { owner: owner.engine, receiver: receiver.engine, client, session };
}

test('a relayed client that stops reading is closed with a named reason', async () => {
  const { owner, receiver, client, session } = await startRelayed();
  const closed = eventOf<[string]>(session, 'close').then(([reason]) => reason);
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  let most = 0;
  for (let number = 0; !isClosed; number++) {
    session.send(`${number} ${'x'.repeat(10_000)}`);
    most = Math.max(most, session.bufferedAmount);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await closed).toBe('slow client');
  expect(most).toBeLessThan(2 * LIMIT);
  expect(owner.counters.closed['slow client']).toBe(1);
  expect([owner.clientsCount, receiver.clientsCount]).toEqual([0, 0]);
  const closeFrame = once(client.socket, 'close') as Promise<[number, Buffer]>;
  client.socket.resume();
  const [code, reason] = await closeFrame;
  expect([code, reason.toString()]).toEqual([1013, 'SLOW_CLIENT']);
  const numbers: number[] = [];
  for (let message = await client.next(); message !== undefined; message = await client.next()) {
    numbers.push(Number(/^4(\d+) x/.exec(String(message))?.[1]));
  }
  expect(numbers).toEqual(numbers.map((_, at) => at));
});

test('a producer that watches the demand loses nothing of 25,000 messages to a relayed client', async () => {
  const { client, session } = await startRelayed();
  const all = pacedSend(session, COUNT, LIMIT / 2);
  expect(session.bufferedAmount).toBeGreaterThan(LIMIT / 2);
  client.socket.resume();
  const wrong: unknown[] = [];
  for (let number = 0; number < COUNT; number++) {
    const message = await client.next();
    if (message !== `4${number} ${'x'.repeat(1000)}`) wrong.push([number, message]);
  }
  expect(wrong).toEqual([]);
  expect(await all).toBeGreaterThan(0);
});
