import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Engine } from '../../../src/engine/engine.js';
import { type LoadLevel, LoadMonitor } from '../../../src/engine/limits/load-monitor.js';
import { serveGjallar } from '../support/application.js';
import { TestClock } from '../support/clock.js';
import { closeEngines, eventOf, startEngine } from '../support/engine.js';
import { closeWebSockets, openPolling, openWebSocket } from '../support/raw.js';

let clock: TestClock;
let monitor: LoadMonitor;
let changes: LoadLevel[];
/** The CPU time that the process has used. */
let used: number;
/** How late a message leaves that comes now. */
let waited: number;

beforeEach(() => {
  clock = new TestClock();
  used = 0;
  waited = 0;
  monitor = new LoadMonitor(
    clock,
    () => waited,
    () => used,
  );
  changes = [];
  monitor.onChange = (level) => changes.push(level);
  monitor.start();
});
afterEach(() => {
  monitor.close();
  closeWebSockets();
  closeEngines();
});

/** The event loop is late by this time, once, because of work of this process (`share` of it). */
function late(delayMs: number, share = 1): void {
  used += (100 + delayMs) * share;
  clock.stall(100 + delayMs);
  clock.advance(0);
}

test.each([
  [0, 0],
  [90, 0],
  [110, 1],
  [260, 2],
  [600, 3],
])('a delay of %d ms, three times in a row, is level %d', (delayMs, level) => {
  for (let n = 0; n < 3; n++) late(delayMs);
  expect(monitor.level).toBe(level);
  expect(changes.at(-1) ?? 0).toBe(level);
});

test('one long turn alone is no overload', () => {
  late(5000);
  late(0);
  late(5000);
  late(0);
  expect(changes).toEqual([]);
});

test('a process that gets no CPU is not overloaded', () => {
  for (let n = 0; n < 10; n++) late(600, 0.3);
  expect(changes).toEqual([]);
});

test('a message that would leave late is rejected at once, and what waits for long is a level like a late event loop', () => {
  waited = 250;
  expect(monitor.rejectsMessages).toBe(false);
  waited = 251;
  expect(monitor.rejectsMessages).toBe(true);
  for (let n = 0; n < 2; n++) late(0);
  expect(changes).toEqual([]);
  late(0);
  expect(changes).toEqual([2]);
  waited = 0;
  expect(monitor.rejectsMessages).toBe(false);
});

test('a level is kept for half a second, so that it does not flap', () => {
  for (let n = 0; n < 3; n++) late(300);
  expect(changes).toEqual([2]);
  // A single turn in time changes nothing.
  late(0);
  for (let n = 0; n < 3; n++) late(300);
  expect(changes).toEqual([2]);
  for (let n = 0; n < 4; n++) late(0);
  expect(changes).toEqual([2]);
  late(0);
  expect(changes).toEqual([2, 0]);
});

test('an engine at level 2 rejects new clients, and serves those that it has', async () => {
  const { engine, url } = await startEngine();
  const known = await openPolling(url);
  // The monitor would soon set it back.
  engine.load.close();
  engine.load.level = 2;
  const refused = await fetch(`${url}&transport=polling`);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
  expect(await refused.json()).toMatchObject({ code: expect.any(Number), message: expect.any(String) });
  expect(await openWebSocket(url).status).toBe(503);
  expect(engine.counters.refused.OVERLOADED).toBe(2);
  const session = Object.values(engine.clients)[0]!;
  const received = eventOf<[string]>(session, 'data');
  expect(await known.post('4still here')).toEqual([200, 'ok']);
  expect(await received).toEqual(['still here']);
});

test('an engine at level 1 drops volatile messages to rooms, and no others', async () => {
  const { io, url, close } = await serveGjallar((server) => {
    server.on('connection', (socket) => socket.join('room'));
  });
  const clients = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const client = openWebSocket(`${url}/socket.io/?EIO=4`);
      await client.next();
      client.send('40');
      await client.next();
      return client;
    }),
  );
  const { load } = io.engine as unknown as Engine;
  load.close();
  load.level = 1;
  io.to('room').volatile.emit('volatile');
  io.to('room').emit('kept');
  for (const client of clients) expect(await client.next()).toBe('42["kept"]');
  load.level = 0;
  io.to('room').volatile.emit('volatile');
  for (const client of clients) expect(await client.next()).toBe('42["volatile"]');
  await close();
});
