import { beforeEach, expect, test } from '@jest/globals';
import type { Backplane } from '../../../src/cluster/backplanes/backplane.js';
import type { EngineOptions } from '../../../src/engine/options.js';
import { movableClock } from '../../support/clock.js';
import { temporaryFolder } from '../../support/folder.js';
import { until } from '../../support/until.js';
import { type Bounds, joinMesh, ofTest } from './support/recovering.js';

const { ahead } = movableClock();
let directory: string;
let buses: Backplane[];
const { nodes, enter, away, start: startWorker } = ofTest();

beforeEach(() => {
  directory = temporaryFolder();
  buses = [];
});

/** Starts two workers. */
async function start(bounds: Bounds, options: { maxDisconnectionDuration?: number; engine?: EngineOptions } = {}) {
  const { maxDisconnectionDuration = 60_000, engine } = options;
  for (const id of [1, 2]) {
    const bus = await joinMesh(directory, id, id === 1 ? [] : [1], { sweepMs: 100, ...bounds });
    buses.push(bus);
    const node = await startWorker(bus, { maxDisconnectionDuration, engine });
    node.io.on('connection', (socket) => {
      if (socket.recovered) return;
      void socket.join('room');
      socket.emit('n', 'hello', 0);
    });
  }
}

const client = () => enter(nodes[0]!);

const filler = 'x'.repeat(1000);

function emitMany(count: number, room: string): void {
  for (let number = 1; number <= count; number++) nodes[1]!.io.to(room).emit('n', 'many', number, filler);
}

test('a client that lacks more than is kept gets a new session', async () => {
  await start({ maxBytes: 50_000 });
  const wanderer = await client();
  await away(wanderer);
  emitMany(20, 'room');
  await wanderer.comeBack(nodes[1]!.url);
  expect(wanderer.of('many')).toHaveLength(20);
  await away(wanderer);
  emitMany(100, 'room');
  await wanderer.comeBack(nodes[0]!.url);
  expect(wanderer.recovered).toEqual([true, false]);
  expect(wanderer.of('many')).toHaveLength(20);
  const [first, second] = buses.map(({ recovery }) => recovery!);
  expect([first!.outcomes['packets missing'], second!.outcomes.recovered]).toEqual([1, 1]);
  await until(() => buses[0]!.recovery!.dropped.packets > 0);
  const { bytes, packets, dropped } = buses[0]!.recovery!;
  expect(bytes.packets).toBeGreaterThan(40_000);
  expect(bytes.packets).toBeLessThanOrEqual(50_000);
  expect(dropped.packets + packets).toBeGreaterThanOrEqual(120);
  // Every worker reports what its machine keeps.
  await until(() => buses[1]!.recovery!.packets > 0);
});

test('a client that lacks more packets of its own than are kept gets a new session', async () => {
  await start({ maxBytes: 50_000 });
  const wanderer = await client();
  const socket = nodes[0]!.io.of('/').sockets.get(wanderer.socket.id!)!;
  wanderer.socket.io.engine.close();
  for (let number = 0; number < 100; number++) socket.emit('n', 'own', number, filler);
  await until(() => nodes[0]!.io.of('/').sockets.size === 0);
  await wanderer.comeBack(nodes[1]!.url);
  expect(wanderer.recovered).toEqual([false]);
  expect(wanderer.of('own')).toEqual([]);
});

test('a client is sent at most half of what may wait for it, and does not count as slow', async () => {
  await start({}, { engine: { maxBackpressure: 65_536 } });
  for (const [count, isRecovered] of [
    [30, true],
    [34, false],
  ] as const) {
    const [wanderer, witness] = [await client(), await client()];
    await away(wanderer);
    emitMany(count, 'room');
    await until(() => witness.of('many').length === count);
    witness.close();
    await wanderer.comeBack(nodes[0]!.url);
    expect(wanderer.recovered).toEqual([isRecovered]);
    if (isRecovered) await until(() => wanderer.of('many').length === count);
    expect(wanderer.socket.connected).toBe(true);
    wanderer.close();
  }
  expect(buses[0]!.recovery!.outcomes['too much missed']).toBe(1);
});

test('the oldest of too many sessions are dropped', async () => {
  await start({ maxSessions: 2 });
  const all = [await client(), await client(), await client()];
  for (const wanderer of all) await away(wanderer);
  await until(() => buses[0]!.recovery!.dropped.sessions === 1);
  for (const wanderer of all) await wanderer.comeBack(nodes[1]!.url);
  expect(all.map(({ recovered }) => recovered)).toEqual([[false], [true], [true]]);
  expect(buses[1]!.recovery!.outcomes).toMatchObject({ 'session unknown': 1, recovered: 2 });
});

test('a session can be recovered until its time is up', async () => {
  await start({}, { maxDisconnectionDuration: 5000 });
  const [late, early] = [await client(), await client()];
  await away(late);
  await ahead(5100);
  await away(early);
  await late.comeBack(nodes[1]!.url);
  await early.comeBack(nodes[1]!.url);
  expect([late.recovered, early.recovered]).toEqual([[false], [true]]);
});
