import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Backplane } from '../../../src/cluster/backplanes/backplane.js';
import { RedisProcess, until } from '../../support/redis.js';
import { disconnectAll, type Pair, pairOn, receivedBy } from './support/clients.js';
import { machinesOn, startMember, type TestNode } from './support/node.js';

/** Wherever clients are placed, they get the same messages in the same order. */

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
/** Two on each of two machines. */
const WORKERS = 4;
const ROOMS = 4;
const MEMBERS = 5;
const CLIENTS = ROOMS * MEMBERS;
const STEPS = 12;
const MESSAGES = 25;

const placements: Record<string, (client: number, random: () => number) => number> = {
  right: (client) => Math.floor(client / MEMBERS) % WORKERS,
  random: (_client, random) => Math.floor(random() * WORKERS),
  // Neighbours of a room are on different machines, and no worker has a room of its own.
  adversarial: (client) => client % WORKERS,
};

let redis: RedisProcess;
let place: Awaited<ReturnType<typeof machinesOn>>;
let members: (TestNode & { bus: Backplane })[];

beforeAll(async () => {
  redis = await RedisProcess.start();
  place = await machinesOn('redis-frames', { server: 'redis', url: redis.url, prefix: 'socket.io' });
  members = [];
  for (let count = 0; count < WORKERS; count++) members.push(await startMember(await place.openBackplane()));
  await until(async () => (await members[0]!.io.of('/').adapter.serverCount()) === WORKERS);
});

afterAll(async () => {
  disconnectAll();
  for (const member of members) await member.close();
  await place.remove();
  await redis.remove();
});

/** Plays the same scene with the clients in other places. Returns what each client got, by sender. */
async function play(name: string): Promise<Record<string, unknown[]>[]> {
  const chance = randomFrom(SEED + 1);
  const homes = Array.from({ length: CLIENTS }, (_, client) => placements[name]!(client, chance));
  const pairs: Pair[] = [];
  for (const home of homes) pairs.push(await pairOn(members[home]!));
  const roomOf = (client: number) => `${name} ${Math.floor(client / MEMBERS)}`;
  await Promise.all(pairs.map(({ socket }, client) => socket.join(roomOf(client))));
  const random = randomFrom(SEED);
  const pick = (count: number) => Math.floor(random() * count);
  /** A client that joins a room may get messages from just before, which docs/guarantees.md allows. */
  const justBefore = new Set<string>();
  for (let step = 0; step < STEPS; step++) {
    for (let number = 0; number < MESSAGES; number++) {
      const sender = pick(CLIENTS);
      const { socket } = pairs[sender]!;
      const { io } = members[homes[sender]!]!;
      const room = roomOf(pick(CLIENTS));
      const message = [sender, step, number];
      const kind = pick(10);
      if (kind < 5) io.to(room).emit('said', ...message);
      else if (kind < 7) socket.to(room).emit('said', ...message);
      else if (kind < 8) io.emit('said', ...message);
      else if (kind < 9) io.to([room, roomOf(pick(CLIENTS))]).emit('said', ...message);
      else io.to(pairs[pick(CLIENTS)]!.client.id!).emit('said', ...message);
    }
    // Membership changes between two steps: everybody has what was sent before.
    await receivedBy(pairs, members);
    const client = pick(CLIENTS);
    const mover = pairs[client]!.socket;
    const room = roomOf(pick(CLIENTS));
    if (mover.rooms.has(room)) {
      mover.leave(room);
      await receivedBy(pairs, members);
    } else {
      justBefore.add(`${client} ${step}`);
      await mover.join(room);
    }
  }
  const received = await receivedBy(pairs, members);
  for (const { client } of pairs) client.disconnect();
  return received.map((events, client) => {
    const bySender: Record<string, unknown[]> = {};
    for (const [event, sender, ...rest] of events) {
      if (event !== 'said' || justBefore.has(`${client} ${rest[0]}`)) continue;
      bySender[String(sender)] ??= [];
      bySender[String(sender)]!.push(rest);
    }
    return bySender;
  });
}

test(`the same deliveries in the same order, whatever the placement (SEED=${SEED})`, async () => {
  const right = await play('right');
  expect(right.every((bySender) => Object.keys(bySender).length > 0)).toBe(true);
  expect(await play('random')).toEqual(right);
  expect(await play('adversarial')).toEqual(right);
}, 120_000);

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
