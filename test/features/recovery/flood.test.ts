import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Socket as Client, io as connect } from 'socket.io-client';
import type { Backplane } from '../../../src/cluster/backplanes/backplane.js';
import { Packets } from '../../../src/features/recovery/keeper/packets.js';
import { PacketMemory } from '../../../src/features/recovery/keeper/stream.js';
import { decodeOffset, encodeOffset } from '../../../src/features/recovery/offset.js';
import { Gate, Turns } from '../../../src/features/recovery/returns/gate.js';
import { VersionVector } from '../../../src/features/recovery/version-vector.js';
import { nextEvent } from '../../support/clients.js';
import { temporaryFolder } from '../../support/folder.js';
import { busyFor, stopwatch, until } from '../../support/until.js';
import { type Bounds, joinMesh, ofTest } from './support/recovering.js';

/** What a client can make its worker do by returning. */

let directory: string;
let buses: Backplane[];
const { nodes, clients, enter, away, start: startWorker } = ofTest();
const extras: Client[] = [];
let bounds: string[];

beforeEach(() => {
  directory = temporaryFolder();
  buses = [];
  bounds = [];
});

afterEach(async () => {
  for (const client of extras.splice(0)) client.disconnect();
});

async function start(limits: Bounds = {}): Promise<void> {
  for (const id of [1, 2]) {
    const bus = await joinMesh(directory, id, id === 1 ? [] : [1], { sweepMs: 100, ...limits }, undefined, (reason) =>
      bounds.push(reason),
    );
    buses.push(bus);
    const node = await startWorker(bus);
    node.io.on('connection', (socket) => {
      socket.on('join', async (names: string[], done: () => void) => {
        await socket.join(names);
        done();
      });
      if (!socket.recovered) socket.emit('n', 'hello', 0);
    });
  }
}

const client = () => enter(nodes[0]!);

const rooms = (count: number) => Array.from({ length: count }, (_, number) => `room ${number}`);

test('a client in too many rooms gets a new session, on each worker, and nothing of its rooms is kept', async () => {
  await start({ maxRooms: 50 });
  for (const at of [0, 1]) {
    const wanderer = await client();
    await wanderer.socket.emitWithAck('join', rooms(50));
    await away(wanderer);
    await until(() => buses[0]!.recovery!.sessions === 1);
    expect(buses[0]!.recovery!.bytes.sessions).toBeLessThan(1500);
    await wanderer.comeBack(nodes[at]!.url);
    expect(wanderer.recovered).toEqual([false]);
  }
  expect(buses.map(({ recovery }) => recovery!.outcomes['too many rooms'])).toEqual([1, 1]);
  expect(bounds).toEqual(['too many rooms', 'too many rooms']);
  // The same if its worker is killed.
  const killed = await client();
  await killed.socket.emitWithAck('join', rooms(50));
  // The own room counts, too.
  const wanderer = await client();
  await wanderer.socket.emitWithAck('join', rooms(49));
  await away(wanderer);
  await wanderer.comeBack(nodes[1]!.url);
  expect(wanderer.recovered).toEqual([true]);
  buses[0]!.close();
  await killed.cutOff();
  await killed.comeBack(nodes[1]!.url);
  expect(killed.recovered).toEqual([false]);
});

test('a client that has missed too much gets a new session', async () => {
  await start({ maxMissed: 10 });
  for (const [count, isRecovered] of [
    [10, true],
    [11, false],
  ] as const) {
    const wanderer = await client();
    await wanderer.socket.emitWithAck('join', ['room']);
    await away(wanderer);
    for (let number = 0; number < count; number++) nodes[0]!.io.to('room').emit('n', 'many', number);
    await wanderer.comeBack(nodes[0]!.url);
    expect(wanderer.recovered).toEqual([isRecovered]);
  }
  expect(buses[0]!.recovery!.outcomes['too much missed']).toBe(1);
});

test('all clients together are sent so much of what they missed, and further ones get a new session', async () => {
  await start({ maxReplayed: 25, maxReplayedBytes: 100_000, maxMissedBytes: 10_000 });
  const back = async (count: number, text = 'many') => {
    const wanderer = await client();
    await wanderer.socket.emitWithAck('join', [`room ${clients.length}`]);
    await away(wanderer);
    for (let number = 0; number < count; number++) nodes[0]!.io.to(`room ${clients.length}`).emit('n', text, number);
    await wanderer.comeBack(nodes[0]!.url);
    return wanderer.recovered;
  };
  expect([await back(12), await back(12)]).toEqual([[true], [true]]);
  expect(await back(12)).toEqual([false]);
  expect(await back(1)).toEqual([true]);
  expect(await back(1, 'x'.repeat(11_000))).toEqual([false]);
  expect(buses[0]!.recovery!.outcomes).toMatchObject({ recovered: 3, 'too much replayed': 1, 'too much missed': 1 });
  expect(bounds).toEqual(['too much replayed', 'too much missed']);
});

test('more recoveries at once than a worker allows end in new sessions', async () => {
  await start({ maxRecovering: 5 });
  const witness = await client();
  nodes[1]!.io.emit('n', 'all', 1);
  await witness.heardAll(2);
  const { senders, worker } = decodeOffset(witness.credentials.offset)!;
  const made = [...senders].map(([sender]) => [sender, 1000] as [string, number]);
  const offset = encodeOffset(Date.now() + 60_000, worker, 0, new VersionVector(made));
  clients.pop()!.close();
  for (let count = 0; count < 8; count++) await away(await client());
  // None of them can be recovered before its wait is over.
  await Promise.all(
    clients.map(async (wanderer) => {
      (wanderer.socket as unknown as { _lastOffset: string })._lastOffset = offset;
      await wanderer.comeBack(nodes[0]!.url);
    }),
  );
  expect(buses[0]!.recovery!.outcomes).toMatchObject({ 'too many recoveries': 3, 'worker behind': 5 });
  expect(clients.map(({ recovered }) => recovered)).toEqual(Array(8).fill([false]));
});

test('a name that can be no session is not looked for on other workers', async () => {
  await start();
  const wanderer = await client();
  const { offset } = wanderer.credentials;
  for (const pid of ['x'.repeat(500_000), '', '__proto__']) {
    const other = connect(nodes[0]!.url, { forceNew: true, transports: ['websocket'], auth: { pid, offset } });
    extras.push(other);
    await nextEvent(other, 'connect');
    expect(other.recovered).toBe(false);
  }
  expect(buses[0]!.recovery!.outcomes['session unknown']).toBe(3);
});

const options = () => ({
  ...{ durationMs: 60_000, silenceMs: 0, slackMs: 0, sweepMs: 5000, maxBytes: 1e9, maxSessions: 1000 },
  ...{ maxRooms: 2000, maxMissed: 10_000, maxMissedBytes: 1e9, maxReplayed: 1e6, maxReplayedBytes: 1e9 },
});

/** The numbers of what a client in these rooms lacks that has received so much of each sender. */
async function missing(
  packets: Packets,
  own: readonly string[],
  senders: readonly [string, number][],
  aliveAt = Date.now(),
) {
  const session = { rooms: own, aliveAt, floors: undefined, alsoReceived: undefined };
  const found = await packets.missing({
    offset: encodeOffset(0, '1', 0, new VersionVector(senders)),
    received: '',
    receivesSince: 0,
    at: 0,
    session,
  });
  return found.outcome === undefined ? found.packets.map(([, number]) => number) : found.outcome;
}

test('packets of other rooms are looked at once, however many clients return', async () => {
  const reads = { count: 0 };
  const packets = new Packets(new PacketMemory(1e9), options);
  packets.begin('2', 0);
  for (let number = 1; number <= 5000; number++) {
    const packet = { number, at: Date.now(), rooms: [`room ${number % 1000}`], except: [], packets: ['2["x"]'] };
    packets.add('2', packet);
    const names = packet.rooms;
    // It is kept as it is.
    Object.defineProperty(packet, 'rooms', {
      get: () => {
        reads.count++;
        return names;
      },
    });
  }
  for (let count = 0; count < 100; count++) {
    expect(await missing(packets, [`room ${count}`], [['2', 0]])).toHaveLength(5);
  }
  expect(reads.count).toBeGreaterThan(4000);
  expect(reads.count).toBeLessThan(20_000);
  // Those that come later are found, and those that are dropped are not.
  packets.add('2', { number: 5001, at: Date.now(), rooms: ['room 1'], except: [], packets: [] });
  const found = () => missing(packets, ['room 1'], [['2', 0]]);
  expect(await found()).toEqual([1, 1001, 2001, 3001, 4001, 5001]);
  for (let sweep = 0; sweep < 2; sweep++) packets.sweep(0);
  expect(await found()).toEqual([1, 1001, 2001, 3001, 4001, 5001]);
});

test('packets to many rooms are work for each of the rooms, and an index is made of them', async () => {
  const packets = new Packets(new PacketMemory(1e9), options);
  packets.begin('2', 0);
  let reads = 0;
  const names = Array.from({ length: 10_000 }, (_, at) => `room ${at}`);
  const rooms = new Proxy(names, {
    get: (target, name) => {
      reads++;
      return Reflect.get(target, name);
    },
  });
  for (let number = 1; number <= 7; number++)
    packets.add('2', { number, at: Date.now(), rooms, except: [], packets: [] });
  const cost = () =>
    packets.costOf({
      offset: encodeOffset(Date.now(), '2', 0, new VersionVector([['2', 3]])),
      session: { rooms: ['room'] },
    });
  expect(cost()).toBeGreaterThan(4 * 600);
  reads = 0;
  for (let count = 0; count < 100; count++)
    expect(await missing(packets, [`room ${count}`], [['2', 0]])).toHaveLength(7);
  expect(reads).toBeLessThan(10 * 7 * 10_000);
  expect(cost()).toBeLessThan(10);
});

test('an index and a look at each packet find the same', async () => {
  const packets = new Packets(new PacketMemory(1e9), options);
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const sent: { sender: string; number: number; names: string[]; except: string[] }[] = [];
  for (const sender of ['2', '3']) packets.begin(sender, 0);
  for (let number = 1; number <= 4000; number++) {
    const names = Array.from({ length: random(4) }, () => `room ${random(50)}`);
    const sender = String(2 + random(2));
    const except = Array.from({ length: random(2) }, () => `room ${random(50)}`);
    sent.push({ sender, number, names, except });
    packets.add(sender, { number, at: Date.now() + number, rooms: names, except, packets: [] });
  }
  const last = (sender: string) => sent.findLast((one) => one.sender === sender)!.number;
  for (let round = 0; round < 50; round++) {
    const own = Array.from({ length: random(5) }, () => `room ${random(50)}`);
    const senders = ['2', '3'].map((one): [string, number] => [one, random(last(one))]);
    const expected = sent
      .filter(({ sender, number }) => number > senders.find(([one]) => one === sender)![1])
      .filter(({ names }) => names.length === 0 || names.some((name) => own.includes(name)))
      .filter(({ except }) => !except.some((name) => own.includes(name)));
    const found = (await missing(packets, own, senders)) as number[];
    expect([...found].sort()).toEqual(expected.map(({ number }) => number).sort());
  }
});

test('what was dropped that a client had received before its last pong does not count', async () => {
  const packets = new Packets(new PacketMemory(5000), options);
  packets.begin('2', 0);
  for (let number = 1; number <= 20; number++) {
    packets.add('2', { number, at: 1000 + number, rooms: ['elsewhere'], except: [], packets: ['x'.repeat(500)] });
  }
  packets.add('2', { number: 21, at: 2000, rooms: ['room'], except: [], packets: ['x'] });
  // The client was there until the last of those was sent that are dropped, or not so long.
  expect(await missing(packets, ['room'], [['2', 0]], 1020)).toEqual([21]);
  expect(await missing(packets, ['room'], [['2', 0]], 1005)).toBe('packets missing');
});

test('what a keeper leaves to another one is in parts, and complete', async () => {
  const packets = new Packets(new PacketMemory(1e9), options);
  packets.begin('2', 3);
  for (let number = 4; number <= 100; number++) {
    packets.add('2', { number, at: Date.now(), rooms: ['room'], except: [], packets: ['x'.repeat(100)] });
  }
  const heir = new Packets(new PacketMemory(1e9), options);
  let parts = 0;
  for (const { sender, ...state } of packets.state(1000)) {
    parts++;
    expect(state.packets.length).toBeLessThanOrEqual(10);
    heir.adopt(sender, state);
  }
  expect(parts).toBe(10);
  expect(await missing(heir, ['room'], [['2', 3]])).toEqual(Array.from({ length: 97 }, (_, at) => at + 4));
  expect(await missing(heir, ['room'], [['2', 99]])).toEqual([100]);
  // It has nothing from before.
  expect(await missing(heir, ['room'], [['2', 1]], 1)).toBe('packets missing');
});

test('work is done in the order of its requests, and others are served for as long in between', async () => {
  const turns = new Turns();
  const elapsed = stopwatch();
  const done: number[] = [];
  const all = [1, 2, 3].map(async (one) => {
    await turns.take(1000);
    done.push(one);
    busyFor(30);
  });
  await all[0];
  expect(done).toEqual([1]);
  await Promise.all(all);
  expect(done).toEqual([1, 2, 3]);
  // Three parts, and the time after two of them.
  expect(elapsed()).toBeGreaterThan(145);
  // Little work waits for nothing.
  const idle = new Turns();
  for (let count = 0; count < 10; count++) await idle.take(20);
  turns.close();
  idle.close();
});

test('a session is recovered by a few attempts at once, and all offsets that wait have a bound', () => {
  const gate = new Gate(1000);
  const enter = (pid: string, offset = '') => gate.enter(pid, offset);
  expect([1, 2, 3, 4, 5].map(() => enter('a'))).toEqual([true, true, true, true, false]);
  gate.leave('a', '');
  expect([enter('a'), enter('b')]).toEqual([true, true]);
  const megabyte = 'x'.repeat(1024 * 1024);
  for (let count = 0; count < 16; count++) expect(enter(`c${count}`, megabyte)).toBe(true);
  expect([enter('d', 'x'), enter('d')]).toEqual([false, true]);
  gate.leave('c0', megabyte);
  expect(enter('d', 'x')).toBe(true);
});

test('many long offsets at once are read in parts, and other clients are served in between', async () => {
  await start();
  const adapter = nodes[0]!.io.of('/').adapter;
  const offset = encodeOffset(
    Date.now(),
    '1',
    0,
    new VersionVector(Array.from({ length: 512 }, (_, one) => [`w${one}`, 1] as const)),
  );
  const invalid = () => buses[0]!.recovery!.outcomes['offset invalid'];
  const names = Array.from({ length: 1000 }, (_, one) => `${one}`.padStart(20, 'x'));
  const all = Promise.all(names.map((pid) => adapter.restoreSession(pid, `${offset}~`)));
  // All that can be done before others are served.
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  expect(invalid()).toBeGreaterThan(0);
  expect(invalid()).toBeLessThan(20);
  await all;
  expect(invalid()).toBe(1000);
});
