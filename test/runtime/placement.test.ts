import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Engine } from '../../src/engine/engine.js';
import { parameterOf } from '../../src/runtime/placement/keys.js';
import { PlaceMover } from '../../src/runtime/placement/mover.js';
import { Placement } from '../../src/runtime/placement/placement.js';

/** Stands for the announcements of the workers: the test says where clients arrive. */
class Arrivals {
  onArrival: ((worker: string, keys: readonly number[]) => void) | undefined;
  readonly announced: string[] = [];
  elsewhere = true;

  hashOf = (key: string) => key.length;
  isAt = () => this.elsewhere;
  enter(key: string): void {
    this.announced.push(key);
  }
  repeat(key: string): void {
    this.announced.push(`${key} again`);
  }
  leave(key: string): void {
    this.announced.push(`no ${key}`);
  }
}

class Client extends EventEmitter {
  isDismissed = false;
  readonly request: object;

  constructor(room: string | undefined, rank?: string) {
    super();
    this.request = { url: '', headers: rank === undefined ? {} : { 'x-gjallar-rank': rank }, _query: { room } };
  }

  dismiss(): void {
    this.isDismissed = true;
  }
}

let now: number;
let arrivals: Arrivals;
let placement: Placement;
let mover: PlaceMover;
let unsettled: string[];
let faults: unknown[];
let connect: (room?: string, rank?: string) => Client;

beforeEach(() => {
  now = 0;
  arrivals = new Arrivals();
  unsettled = [];
  faults = [];
  const engine = new EventEmitter();
  placement = new Placement(
    () => arrivals as never,
    (fault) => faults.push(fault),
    () => now,
  );
  placement.watch(engine as Engine, ({ query }) => query.room);
  mover = new PlaceMover(
    placement,
    (key) => unsettled.push(key),
    () => now,
  );
  connect = (room, rank) => {
    const client = new Client(room, rank);
    engine.emit('connection', client);
    return client;
  };
});

afterEach(() => mover.close());

const arriveElsewhere = (key: string) => arrivals.onArrival?.('other', [key.length]);

test('a key is announced with its first client, again when it is back, and until its last client leaves', () => {
  const clients = [connect('room'), connect('room')];
  connect();
  arriveElsewhere('room');
  expect(placement.counts).toEqual({ in: 0, out: 2, none: 1 });
  clients.push(connect('room'));
  expect(placement.counts).toEqual({ in: 3, out: 0, none: 1 });
  for (const client of clients) client.emit('close');
  expect(placement.counts).toEqual({ in: 0, out: 0, none: 1 });
  expect(arrivals.announced).toEqual(['room', 'room again', 'no room']);
});

test('the ranks of a key have places of their own, and a client without a rank has none', () => {
  const ranks = ['0', '1', '15', 'none', '', '-1', '01', '100', '1, 2'];
  const clients = ranks.map((rank) => connect('room', rank));
  expect(arrivals.announced).toEqual(['room', 'room#1', 'room#15']);
  expect(placement.counts).toEqual({ in: 3, out: 0, none: 6 });
  arriveElsewhere('room#1');
  now = 5000;
  mover.turn();
  expect(clients.map(({ isDismissed }) => isDismissed)).toEqual(ranks.map((rank) => rank === '1'));
});

test('clients follow after five seconds, fifty at a time, and only while the other worker has the key', () => {
  const clients = Array.from({ length: 60 }, () => connect('room'));
  const stays = connect('another room');
  const dismissed = () => clients.filter(({ isDismissed }) => isDismissed).length;
  arriveElsewhere('room');
  now = 4999;
  mover.turn();
  expect(dismissed()).toBe(0);
  now = 5000;
  arrivals.elsewhere = false;
  mover.turn();
  expect(dismissed()).toBe(0);
  arrivals.elsewhere = true;
  mover.turn();
  expect(dismissed()).toBe(50);
  mover.turn();
  mover.turn();
  expect([dismissed(), mover.moved, stays.isDismissed]).toEqual([60, 60, false]);
});

test('a key that goes back and forth is left alone, until that is ten minutes ago', () => {
  const client = connect('room');
  for (let turn = 0; turn < 9; turn++) {
    arriveElsewhere('room');
    if (turn < 8) connect('room').emit('close');
  }
  now = 5000;
  mover.turn();
  mover.turn();
  expect([client.isDismissed, unsettled]).toEqual([false, ['room']]);
  now = 700_000;
  arriveElsewhere('room');
  now += 5000;
  mover.turn();
  expect(client.isDismissed).toBe(true);
});

test('a key whose clients all leave with each move is left alone as well', () => {
  let moves = 0;
  for (let turn = 0; turn < 12; turn++) {
    const client = connect('room');
    arriveElsewhere('room');
    now += 5000;
    mover.turn();
    if (client.isDismissed) moves++;
    client.emit('close');
  }
  expect([moves, unsettled]).toEqual([8, ['room']]);
});

test('the turns of 10,000 keys that have left are remembered', () => {
  arrivals.hashOf = (key) => Number(key);
  const visit = (key: number) => {
    const client = connect(`${key}`);
    arrivals.onArrival?.('other', [key]);
    const { turns } = placement.keys.get(key)!;
    client.emit('close');
    return turns;
  };
  for (let key = 0; key <= 10_000; key++) visit(key);
  expect([visit(1), visit(0)]).toEqual([2, 1]);
});

test.each([
  [
    'throws',
    () => {
      throw new Error('no key');
    },
  ],
  ['returns an object', () => ({})],
  ['returns a number', () => 42],
  ['returns a promise that is rejected', () => Promise.reject(new Error('no key'))],
  ['returns a list', () => ['room']],
])('clients have no key if placeBy %s, which is reported once', async (_what, placeBy) => {
  const engine = new EventEmitter();
  placement.watch(engine as Engine, placeBy as never);
  engine.emit('connection', new Client('room'));
  engine.emit('connection', new Client('room'));
  expect(placement.counts).toEqual({ in: 0, out: 0, none: 2 });
  expect(faults).toEqual([expect.any(Error)]);
  // The rejection of a promise without a handler would fail the test by now.
  await new Promise(setImmediate);
});

test.each([
  ['/socket.io/?EIO=4&room=doc-42&transport=polling', 'doc-42'],
  ['/socket.io/?room=a%20b', 'a%20b'],
  ['/socket.io/?room=a+b', 'a+b'],
  ['/socket.io/?room=%00', '%00'],
  ['/socket.io/?room=__proto__', '__proto__'],
  ['/socket.io/?the_room=b&room=a', 'a'],
  [`/socket.io/?room=${'x'.repeat(3000)}`, 'x'.repeat(3000)],
  ['/socket.io/?room=', ''],
  ['/socket.io/?room', undefined],
  ['/socket.io/?room[]=a', undefined],
  ['/socket.io/?room%5B%5D=a', undefined],
  // Proxies would hash another value, or none.
  ['/socket.io/?room=a&room=b', undefined],
  ['/socket.io/?room=&room=b', undefined],
  ['/socket.io/?ROOM=a&room=b', undefined],
  ['/socket.io/?ROOM=a', undefined],
  ['/socket.io/?%72oom=a', undefined],
  ['/socket.io/?x=1;room=a&room=b', undefined],
  ['/socket.io/?room=a;b', undefined],
  ['/socket.io/?room=a?room=b', undefined],
  ['/socket.io/?room=a#b', undefined],
  ['/socket.io/?x#&room=a', undefined],
  ['/socket.io/?x=1;room=a', undefined],
  ['/socket.io/?x?room=a', undefined],
  ['/socket.io/?x=1;2?3&room=a', 'a'],
])('the key of %s is what every proxy hashes', (url, key) => {
  expect(parameterOf('room')({ url, query: {}, headers: {} })).toBe(key);
});

test('clients that come with another key each time leave nothing behind', () => {
  for (let index = 0; index < 1000; index++) connect('x'.repeat(index)).emit('close');
  expect([placement.keys.size, placement.withoutKey]).toEqual([0, 0]);
  expect(arrivals.announced.filter((one) => !one.startsWith('no '))).toHaveLength(999);
  expect(arrivals.announced.filter((one) => one.startsWith('no '))).toHaveLength(999);
});
