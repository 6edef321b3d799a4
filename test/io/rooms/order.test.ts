import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { alone } from '../../../src/io/server/default-adapter.js';
import { bases } from '../../engine/bases/support/bases.js';
import { startNode, type TestNode } from './support/node.js';
import { Random } from './support/random.js';
import { namespaces, type Recording, recordNode, recordStock } from './support/recording.js';
import '../../support/long.js';

const CONNECTIONS = 8;
/** How many things happen before both are compared. */
const ROUND = 20_000;

/** One thing that an application does to a server; done to both servers alike. */
type Action = ({ io, connections }: Recording) => void;

/** @param rooms where nobody but their members is spoken to, some sockets are never in more than one topic */
function randomAction(random: Random, n: number, { rooms, isToAll }: Mixture): Action {
  const namespace = random.pick(namespaces);
  const index = random.below(CONNECTIONS);
  const [room, other] = [random.pick(rooms), random.pick(rooms)];
  const socketOf = ({ connections }: Recording) => connections[index]![namespace]!;
  const value = randomValue(random, n);
  const change = random.pick(changes);
  const kind = random.below(isToAll ? 100 : 94);
  if (kind < 2) return (on) => void socketOf(on).join(room);
  if (kind < 4) return (on) => void socketOf(on).leave(room);
  if (kind < 5) return (on) => void on.io.of(namespace).in(room).socketsJoin(other);
  if (kind < 6) return (on) => void on.io.of(namespace).in(room).except(other).socketsLeave(room);
  if (kind < 7) return (on) => change(on.io.of(namespace).adapter.rooms, room, socketOf(on).id);
  if (kind < 40) return (on) => void socketOf(on).emit('e', value);
  if (kind < 43) return (on) => void socketOf(on).emit('e', value, () => {});
  if (kind < 63) return (on) => void on.io.of(namespace).to(room).emit('e', value);
  if (kind < 80) return (on) => void on.io.of(namespace).to([room, other]).emit('e', value);
  if (kind < 87) return (on) => void on.io.of(namespace).to(room).except(other).emit('e', value);
  if (kind < 94) return (on) => void socketOf(on).to(room).emit('e', value);
  if (kind < 96) return (on) => void on.io.of(namespace).emit('e', value);
  if (kind < 98) return (on) => void socketOf(on).broadcast.emit('e', value);
  return (on) => void on.io.of(namespace).except(room).compress(false).emit('e', value);
}

/** What an application can do to the rooms of an adapter without asking it. */
const changes: ((rooms: Map<string, Set<string>>, room: string, id: string) => unknown)[] = [
  (rooms, room, id) => rooms.get(room)?.add(id),
  (rooms, room, id) => rooms.get(room)?.add(id),
  (rooms, room, id) => rooms.get(room)?.delete(id),
  (rooms, room, id) => rooms.get(room)?.delete(id),
  (rooms, room) => rooms.get(room)?.clear(),
  (rooms, room) => rooms.delete(room),
  (rooms, room, id) => rooms.set(room, new Set(rooms.get(room)).add(id)),
];

function randomValue(random: Random, n: number): unknown {
  if (random.chance(0.01)) return { n, bytes: Buffer.from([n & 255, 1, 2]) };
  // Longer than what uWebSockets.js gathers for one write.
  if (random.chance(0.002)) return { n, text: 'ü'.repeat(20_000) };
  return n;
}

/** The first difference, or nothing: a comparison of a million elements must not be printed. */
function firstDifference(actual: readonly string[][], expected: readonly string[][]): object | undefined {
  for (const [connection, messages] of expected.entries()) {
    const length = Math.max(messages.length, actual[connection]!.length);
    for (let at = 0; at < length; at++) {
      if (messages[at] === actual[connection]![at]) continue;
      const around = (list: readonly string[]) =>
        list.slice(Math.max(0, at - 2), at + 5).map((one) => one.slice(0, 60));
      return { connection, at, expected: around(messages), actual: around(actual[connection]!) };
    }
  }
  return undefined;
}

interface Mixture {
  rooms: readonly string[];
  isToAll: boolean;
}

const mixed: Mixture = { rooms: ['a', 'b', 'c', 'd'], isToAll: true };
/** Most sockets are in one topic or in none. */
const sparse: Mixture = { rooms: ['a', 'b'], isToAll: false };

describe.each<[string, number, string, Mixture, number]>([
  ['in windows', 25, 'to all', mixed, 200_000],
  ['in windows', 25, 'to rooms', sparse, 100_000],
  ['at once', 0, 'to all', mixed, 60_000],
  ['at once', 0, 'to rooms', sparse, 60_000],
])('a server that sends %s', (_name, flushMs, target, mixture, events) => {
  let node: TestNode;

  beforeAll(async () => {
    // One engine with clients on uWebSockets.js and on node:http.
    node = await startNode(alone, { engine: { flushMs }, bases: bases.map(([, base]) => base) });
  });

  afterAll(() => node.close());

  test(`sends each socket what stock socket.io sends it, in the same order, ${target}`, async () => {
    const stock = await recordStock(CONNECTIONS);
    const ours = await recordNode(node, CONNECTIONS);
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    const random = new Random(seed);
    // Some are sent everything by themselves, from some point on.
    const observedFrom = new Map([
      [1, 0],
      [2, 5000],
    ]);
    let delivered = 0;
    for (let n = 0; delivered < events; ) {
      for (let done = 0; done < ROUND; ) {
        for (let burst = random.below(random.chance(0.1) ? 1000 : 30); burst >= 0; burst--, done++, n++) {
          const action = randomAction(random, n, mixture);
          action(stock);
          action(ours);
          for (const [connection, from] of observedFrom) {
            if (n === from) for (const on of [stock, ours]) on.connections[connection]!['/']!.onAnyOutgoing(() => {});
          }
        }
        if (random.chance(0.7)) await new Promise((resolve) => setImmediate(resolve));
      }
      const expected = await stock.take();
      const difference = firstDifference(await ours.take(), expected);
      if (difference) expect({ seed, ...difference }).toBeUndefined();
      for (const messages of expected) delivered += messages.length;
    }
  });
});
