import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Socket } from 'socket.io';
import { Adapter } from 'socket.io-adapter';
import { type Socket as Client, io as connect } from 'socket.io-client';
import { StateMap } from '../../../public/gjallar-client.js';
import { createStateRoom, type StateRoom } from '../../../src/features/state/index.js';
import { Marks } from '../../../src/features/state/members/marks.js';
import { startNode, type TestNode } from '../../io/rooms/support/node.js';
import { whileActing } from '../../support/until.js';
import { View } from './support/view.js';

const KEYS = 20;
const BLOCKED = fileURLToPath(new URL('support/blocked-client.mjs', import.meta.url));

let node: TestNode;
let room: StateRoom;
let endPublishing = () => {};
let changes = 0;
let child: ChildProcess | undefined;
let client: Client | undefined;

beforeEach(async () => {
  node = await startNode((nsp) => new Adapter(nsp));
  room = createStateRoom(node.io, 'quotes', { event: 'quote' });
  node.io.on('connection', (socket: Socket) => {
    socket.on('watch', (options, ack) => ack(room.join(socket, options)));
  });
});

afterEach(async () => {
  endPublishing();
  child?.kill();
  client?.disconnect();
  await node.close();
});

/** About 2,000 changes a second, each with the time at which it was made. */
function publish(): void {
  changes = 0;
  const ended = new Promise<void>((resolve) => {
    endPublishing = resolve;
  });
  const change = () => {
    for (let count = 0; count < 10; count++) room.set(`key ${changes++ % KEYS}`, Date.now());
  };
  void whileActing(5, change, ended);
}

test.each(['websocket', 'polling'])(
  'a client on %s that did not read for 3 s sees new values first',
  async (transport) => {
    publish();
    child = fork(BLOCKED, [node.url, transport, '3000']);
    const [ages] = (await once(child, 'message')) as [number[]];
    expect(Math.max(...ages)).toBeLessThan(1200);
    expect(room.stats().conflated).toBeGreaterThan(changes / 4);
  },
);

async function watching(): Promise<View> {
  client = connect(node.url, { transports: ['websocket'], forceNew: true });
  const view = new View(client, 'quote');
  await client.emitWithAck('watch', {});
  return view;
}

function changedUntil(fits: () => boolean): Promise<void> {
  return new Promise((resolve) => room.on('change', () => fits() && resolve()));
}

const lastMark = (view: View) => view.messages.findLast(([, { mark }]) => mark !== undefined)?.[1].mark;

test('a client that says that it acknowledges, and does not, is sent nothing until it does, and then the newest values', async () => {
  room.set('a', 0);
  const view = await watching();
  await view.shows(({ a }) => a === 0);
  client!.emit('state:ack', { quote: 0 });
  publish();
  await changedUntil(() => room.stats().behind === 1);
  const fence = new Promise((resolve) => client!.once('fence', resolve));
  node.io.emit('fence');
  await fence;
  const { length } = view.messages;
  const { conflated } = room.stats();
  const { changes } = room.stats();
  await changedUntil(() => room.stats().changes > changes + 1000);
  endPublishing();
  expect(view.messages).toHaveLength(length);
  client!.emit('state:ack', { quote: lastMark(view) });
  await view.until(() => room.stats().behind === 0);
  expect(room.stats().conflated).toBeGreaterThan(conflated);
  await view.shows((state) => Object.keys(state).every((key) => state[key] === room.get(key)));
});

test('a client of a room that begins later acknowledges too', async () => {
  node.io.on('connection', (socket) => {
    socket.on('watch later', (_options, ack) => {
      socket.emit('quote', [], { snapshot: true });
      ack({ ok: true });
      socket.on('begin', () => room.join(socket));
    });
  });
  client = connect(node.url, { transports: ['websocket'], forceNew: true });
  const view = new View(client, 'quote');
  new StateMap(client, 'quote', { watch: 'watch later' });
  await view.until(() => view.messages.length === 1);
  client.emit('begin');
  publish();
  await view.until(() => view.messages.filter(([, { mark }]) => mark !== undefined).length > 1);
});

test('a map that is closed leaves a client that the server does not wait for', async () => {
  const view = await watching();
  const map = new StateMap(client!, 'quote', { watch: 'watch' });
  room.set('a', 0);
  await view.shows(({ a }) => a === 0);
  publish();
  await view.until(() => view.messages.filter(([, { mark }]) => mark !== undefined).length > 1);
  map.close();
  const { changes } = room.stats();
  // It is sent marks for a moment, and none of them is awaited.
  await changedUntil(() => room.stats().changes > changes + 2500);
  expect(room.stats()).toMatchObject({ behind: 0, conflated: 0 });
});

test('a map that is closed leaves the pace to another one of its room', async () => {
  const view = await watching();
  const [map] = [1, 2].map(() => new StateMap(client!, 'quote', { watch: 'watch' }));
  room.set('a', 0);
  await view.shows(({ a }) => a === 0);
  publish();
  const marks = () => view.messages.filter(([, { mark }]) => mark !== undefined).length;
  await view.until(() => marks() > 1);
  map!.close();
  const before = marks();
  await view.until(() => marks() > before + 4);
});

test.each([null, 5, 'x', [], {}, { quote: 'x' }, { quote: Number.NaN }, { quote: 1e9 }, { quote: -1 }, { other: 1 }])(
  'the acknowledgement %j changes nothing',
  async (marks) => {
    const view = await watching();
    client!.emit('state:ack', marks);
    client!.emit('state:ack');
    room.set('a', 1);
    await view.shows(({ a }) => a === 1);
    room.set('a', 2);
    await view.shows(({ a }) => a === 2);
  },
);

describe('the marks of a member', () => {
  test('are four a second, and one after 64 KB', () => {
    const marks = new Marks();
    expect(marks.isDue(1000)).toBe(true);
    marks.sent(1, 1000);
    marks.acknowledge(1, 1010);
    expect(marks.isDue(1249)).toBe(false);
    expect(marks.isDue(1250)).toBe(true);
    marks.count(65_536);
    expect(marks.isDue(1011)).toBe(true);
  });

  test('are late after 500 ms and a round trip', () => {
    const marks = new Marks();
    marks.sent(1, 1000);
    expect([marks.isLate(1500), marks.isLate(1501)]).toEqual([false, true]);
    marks.acknowledge(1, 1200);
    marks.sent(2, 2000);
    expect([marks.isLate(2700), marks.isLate(2701)]).toEqual([false, true]);
    expect([marks.waitMs(2700) > 0, marks.waitMs(2701) > 0]).toEqual([false, true]);
    // An acknowledgement of an earlier one does not count.
    marks.acknowledge(1, 2701);
    expect(marks.isLate(2701)).toBe(true);
    marks.acknowledge(3, 2702);
    expect(marks.isLate(9999)).toBe(false);
  });

  test('let a member that reads get more and more at once', () => {
    const marks = new Marks();
    let now = 1000;
    const free = (bytes: number) => {
      marks.sent(now, now);
      marks.count(bytes);
      const isFree = marks.waitMs(now) === 0;
      marks.acknowledge(now, ++now);
      return isFree;
    };
    expect([free(65_537), free(131_072), free(262_144), free(600_000)]).toEqual([false, true, true, false]);
    marks.sent(now, now);
    marks.acknowledge(now, now + 3000);
    now += 3000;
    expect(free(65_537)).toBe(false);
  });

  test('are sent again after 5 s: the acknowledgement may be lost', () => {
    const marks = new Marks();
    marks.sent(1, 1000);
    expect(marks.waitMs(5999)).toBe(1);
    expect([marks.waitMs(6000), marks.isDue(6000)]).toEqual([0, true]);
    marks.sent(2, 6000);
    expect(marks.waitMs(6501)).toBe(4499);
  });
});
