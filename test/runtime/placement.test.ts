import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Engine } from '../../src/engine/engine.js';
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

  constructor(room: string | undefined) {
    super();
    this.request = { url: '', headers: {}, _query: { room } };
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
let connect: (room?: string) => Client;

beforeEach(() => {
  now = 0;
  arrivals = new Arrivals();
  unsettled = [];
  const engine = new EventEmitter();
  placement = new Placement(
    () => arrivals as never,
    () => now,
  );
  placement.watch(engine as Engine, ({ query }) => query.room);
  mover = new PlaceMover(
    placement,
    (key) => unsettled.push(key),
    () => now,
  );
  connect = (room) => {
    const client = new Client(room);
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

test('a client whose key cannot be found has none', () => {
  const engine = new EventEmitter();
  placement.watch(engine as Engine, () => {
    throw new Error('no key');
  });
  engine.emit('connection', new Client('room'));
  expect(placement.counts).toEqual({ in: 0, out: 0, none: 1 });
});
