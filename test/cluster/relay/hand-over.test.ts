import { deserialize, serialize } from 'node:v8';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ArrivingSession } from '../../../src/engine/session/handshake.js';
import type { Session } from '../../../src/engine/session/session.js';
import { openPolling, RawPolling } from '../../engine/support/raw.js';
import { until } from '../../support/until.js';
import { startWorker, stopWorkers, type TestWorker } from '../support/workers.js';

let old: TestWorker;
let successor: TestWorker;
/** Another worker of the machine, which is not replaced. */
let other: TestWorker;
let client: RawPolling;
let session: Session;
/** Whether sessions go on that have arrived. */
let isWelcome: boolean;
const heard: unknown[] = [];
const failures: (string | undefined)[] = [];

beforeEach(async () => {
  heard.length = 0;
  failures.length = 0;
  isWelcome = true;
  // A session on polling does not wait for its WebSocket.
  const options = { allowUpgrades: false };
  [old, successor, other] = [await startWorker(options), await startWorker(options), await startWorker(options)];
  // What clients say here is no Socket.IO.
  for (const { engine } of [old, successor, other]) engine.removeAllListeners('connection');
  receive(successor);
  old.relay.onArrived = (_sid, failure) => failures.push(failure);
  client = await openPolling(old.url);
  session = old.engine.clients[client.sid]!;
  expect(await client.post('4first')).toEqual([200, 'ok']);
});

afterEach(stopWorkers);

function receive({ engine, relay }: TestWorker): void {
  relay.onHandOver = (from, bytes) => {
    const moving = deserialize(bytes) as ArrivingSession;
    engine.arrive(moving, undefined, (arrived) => {
      arrived?.on('data', (data) => heard.push(data));
      relay.tellArrived(from, moving.id, isWelcome ? undefined : 'not let in');
      // As the lifecycle does once the application knows the session.
      if (isWelcome) arrived?.onDeadline(false);
      if (isWelcome) arrived?.polling?.handleHeldPost();
      else arrived?.dismiss();
    });
  };
}

/** The client, on the port of a worker. */
const at = (worker: TestWorker) =>
  new RawPolling(`${worker.url}&transport=polling&sid=${client.sid}`, client.open, client.headers);

/** Lets all workers know who replaces the old one. */
function replace(): void {
  for (const worker of [old, successor, other]) worker.successors = [['1', '2']];
}

function handOver(to = '2'): void {
  expect(old.engine.canLeave(session)).toBe(true);
  const state = serialize({ id: session.id, parts: session.request.toParts(), packets: session.takePackets() });
  const { poll } = old.engine.handOver(session);
  old.relay.handOver(to, session.id, state, poll);
}

const arrived = () => until(() => failures.length > 0);
const sessionThere = () => successor.engine.clients[client.sid];

test('the poll that waits goes along, and gets what was to be sent', async () => {
  const polled = client.poll();
  await until(() => session.polling!.isQuiet);
  replace();
  handOver();
  await arrived();
  expect(failures).toEqual([undefined]);
  // Its heartbeat begins again.
  expect(await polled).toEqual([200, '2']);
  sessionThere()!.send('from the new worker');
  expect(await at(successor).poll()).toEqual([200, '4from the new worker']);
});

test('what waits without a poll goes along in order', async () => {
  session.send('1');
  session.send('2');
  replace();
  handOver();
  await arrived();
  const [, body] = await at(successor).poll();
  expect(body.split('\x1e')).toEqual(['41', '42', '2']);
});

test.each<[string, () => TestWorker]>([
  ['the old worker', () => old],
  ['the new worker', () => successor],
  ['a third worker', () => other],
])('requests reach the session through %s', async (_name, worker) => {
  replace();
  handOver();
  await arrived();
  const through = at(worker());
  expect(await through.poll()).toEqual([200, '2']);
  expect(await through.post('4second')).toEqual([200, 'ok']);
  expect(heard).toEqual(['second']);
  sessionThere()!.send('third');
  expect(await through.poll()).toEqual([200, '4third']);
});

test.each<[string, () => TestWorker]>([
  ['the old worker', () => old],
  ['the new worker', () => successor],
  ['a third worker', () => other],
])('requests that overtake the session wait for it: %s', async (_name, worker) => {
  old.mesh.hold();
  replace();
  handOver();
  const through = at(worker());
  const polled = through.poll();
  const posted = through.post('4second');
  // The messages of the other two reach the old worker, which sends nothing yet.
  await until(() => old.relay.receivedConnections.length === 2);
  expect(heard).toEqual([]);
  old.mesh.release();
  expect(await polled).toEqual([200, '2']);
  expect(await posted).toEqual([200, 'ok']);
  expect(heard).toEqual(['second']);
});

test('requests reach the old worker while the session is still there', async () => {
  replace();
  expect(await at(successor).post('4second')).toEqual([200, 'ok']);
  const polled = at(other).poll();
  await until(() => session.polling!.isQuiet);
  session.send('third');
  expect(await polled).toEqual([200, '4third']);
});

test('a worker that has not heard of the reload passes requests on as well', async () => {
  for (const worker of [old, successor]) worker.successors = [['1', '2']];
  handOver();
  await arrived();
  expect(await at(other).poll()).toEqual([200, '2']);
});

test('no request goes in circles for a session that has ended', async () => {
  replace();
  handOver();
  await arrived();
  sessionThere()!.close(true);
  for (const worker of [old, successor, other]) {
    const [status, body] = await at(worker).poll();
    expect([status, body]).toEqual([400, expect.stringContaining('Session ID unknown')]);
    expect((await at(worker).post('4late'))[0]).toBe(400);
  }
  for (const { relay } of [old, successor, other]) expect(relay.receivedConnections).toEqual([]);
});

test('a client may end its poll on the way', async () => {
  const abort = new AbortController();
  const polled = client.poll(abort.signal).catch(() => 'aborted');
  await until(() => session.polling!.isQuiet);
  old.mesh.hold();
  replace();
  handOver();
  abort.abort();
  expect(await polled).toBe('aborted');
  await until(() => old.relay.receivedConnections.length === 0);
  old.mesh.release();
  await arrived();
  sessionThere()!.send('later');
  // What the poll was to get is lost with it, as it would be without a move.
  expect((await at(successor).poll())[1]).toContain('4later');
});

test('a session that cannot go on answers its poll, and later requests', async () => {
  isWelcome = false;
  const polled = client.poll();
  await until(() => session.polling!.isQuiet);
  replace();
  handOver();
  await arrived();
  expect(failures).toEqual(['not let in']);
  expect((await polled)[0]).toBe(400);
  for (const worker of [old, successor, other]) expect((await at(worker).poll())[0]).toBe(400);
});

test.each<[string, (brisk: TestWorker) => void]>([
  ['it is not let in', () => (isWelcome = false)],
  ['a middleware never answers', ({ engine }) => engine.use(() => {})],
])('the session of a client that is gone ends on the new worker: %s', async (_name, prepare) => {
  const brisk = await startWorker({ allowUpgrades: false, pingInterval: 100, pingTimeout: 100 });
  receive(brisk);
  prepare(brisk);
  const counts: number[] = [];
  const { onHandOver } = brisk.relay;
  brisk.relay.onHandOver = (...handed) => {
    onHandOver(...handed);
    counts.push(brisk.engine.clientsCount);
  };
  // No poll comes that would take it.
  session.send('1');
  handOver('4');
  await until(() => counts.length > 0);
  expect(counts).toEqual([1]);
  await until(() => brisk.engine.clientsCount === 0);
});

test('the end of either worker on the way answers the poll', async () => {
  const polled = client.poll();
  await until(() => session.polling!.isQuiet);
  replace();
  successor.relay.onHandOver = () => successor.mesh.close();
  handOver();
  expect((await polled)[0]).toBe(400);
});

test('a session with a POST in progress stays, and leaves once it is answered', async () => {
  let go = () => {};
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('4sec'));
      go = () => {
        controller.enqueue(new TextEncoder().encode('ond'));
        controller.close();
      };
    },
  });
  const headers = { 'Content-Length': '7' };
  const posted = fetch(client.url, { method: 'POST', body, duplex: 'half', headers } as RequestInit);
  await until(() => session.polling!.isReceiving);
  expect(old.engine.canLeave(session)).toBe(false);
  go();
  expect((await posted).status).toBe(200);
  replace();
  handOver();
  await arrived();
  expect(failures).toEqual([undefined]);
});
