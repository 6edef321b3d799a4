import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { Server, type Socket } from 'socket.io';
import { Adapter } from 'socket.io-adapter';
import { RoomSets, withRoomSets } from '../../../src/io/rooms/room-sets.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { until } from '../../support/until.js';
import { disconnectAll, pairOn } from './support/clients.js';
import { startNode } from './support/node.js';
import { Random } from './support/random.js';

type Sets = Map<string, Set<string>>;

const ids = ['s1', 's2', 's3', 's4'];
const names = [...ids, 'a', 'b', 'c'];
const eventNames = ['create-room', 'join-room', 'leave-room', 'delete-room'];

/** An adapter whose events are kept, each with what its listener finds in the rooms. */
function recorded(make: (adapter: Adapter) => Adapter, isLookedAt: boolean): { adapter: Adapter; events: unknown[] } {
  const adapter = make(new Adapter(new Server().of('/')));
  const events: unknown[] = [];
  for (const name of eventNames) {
    adapter.on(name, (room: string, id?: string) => {
      events.push(
        isLookedAt ? [name, room, id, adapter.rooms.get(room)?.size, adapter.sids.get(id!)?.size] : [name, room, id],
      );
    });
  }
  return { adapter, events };
}

/** Every way in which an application reads a Map, by name. */
const readings: Record<string, (sets: Sets, key: string) => unknown> = {
  get: (sets, key) => [...(sets.get(key) ?? [])],
  has: (sets, key) => sets.has(key),
  size: (sets) => sets.size,
  keys: (sets) => [...sets.keys()],
  values: (sets) => [...sets.values()].map((members) => [...members]),
  entries: (sets) => Array.from(sets.entries(), ([key, members]) => [key, [...members]]),
  iterator: (sets) => [...sets].map(([key, { size }]) => [key, size]),
  forEach: (sets) => {
    const all: unknown[] = [];
    sets.forEach(function (this: unknown, members, key, map) {
      all.push([key, members.size, map === sets, this]);
    }, 'self');
    return all;
  },
  copy: (sets) => new Map(sets),
  inspect: (sets) => inspect(sets),
  'as an object': (sets) => [Object.keys(sets), JSON.stringify(sets)],
  'same set each time': (sets, key) => {
    const members = sets.get(key);
    return sets.get(key) === members;
  },
  'deleted while iterating': (sets) => {
    const seen: string[] = [];
    for (const [key, members] of sets) {
      seen.push(key);
      members.add('x').delete('x');
    }
    return seen;
  },
};

type Action = (adapter: Adapter) => unknown;

function randomAction(random: Random): Action {
  const [id, room, other] = [random.pick(ids), random.pick(names), random.pick(names)];
  const kind = random.below(100);
  if (kind < 25) return (adapter) => adapter.addAll(id, new Set([id]));
  if (kind < 40) return (adapter) => adapter.addAll(id, new Set([room, other]));
  if (kind < 50) return (adapter) => adapter.del(id, room);
  if (kind < 60) return (adapter) => adapter.delAll(id);
  const reading = readings[random.pick(Object.keys(readings))]!;
  const isOfRooms = random.chance(0.5);
  return ({ rooms, sids }) => reading(isOfRooms ? rooms : sids, isOfRooms ? room : id);
}

const contents = ({ rooms, sids }: Adapter) =>
  [rooms, sids].map((sets) => [...new Map(sets)].map(([key, members]) => [key, [...members]]));

/** Whether two keys share the set that stands for one member each. `get()` of the class would create both. */
const share = (sets: Sets, one: string, other: string) =>
  Map.prototype.get.call(sets, one) === Map.prototype.get.call(sets, other);

describe('the sets of an adapter', () => {
  test.each([true, false])('are those of socket.io, whether listeners look at them (%s) or not', (isLookedAt) => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
    for (let round = 0; round < 50; round++) {
      const random = new Random(seed + round);
      const stock = recorded((adapter) => adapter, isLookedAt);
      const ours = recorded(withRoomSets, isLookedAt);
      for (let n = 0; n < 60; n++) {
        const action = randomAction(random);
        expect({ seed, n, result: action(ours.adapter) }).toEqual({ seed, n, result: action(stock.adapter) });
      }
      expect(ours.events).toEqual(stock.events);
      expect(contents(ours.adapter)).toEqual(contents(stock.adapter));
    }
  });

  test('keep what an application adds to them', () => {
    const { adapter } = recorded(withRoomSets, false);
    adapter.addAll('s1', new Set(['s1']));
    const members = adapter.rooms.get('s1')!;
    members.add('s2');
    adapter.addAll('s3', new Set(['s1']));
    expect([...adapter.rooms.get('s1')!]).toEqual(['s1', 's2', 's3']);
    expect([...members]).toEqual(['s1', 's2', 's3']);
  });

  test('are shared until an application asks for them', () => {
    const { adapter } = recorded(withRoomSets, false);
    for (const id of ids) adapter.addAll(id, new Set([id]));
    adapter.addAll('s4', new Set(['a']));
    expect(share(adapter.rooms, 's1', 's4')).toBe(true);
    expect(share(adapter.sids, 's1', 's2')).toBe(true);
    expect(share(adapter.sids, 's1', 's4')).toBe(false);
    adapter.rooms.get('s1');
    expect(share(adapter.rooms, 's1', 's2')).toBe(false);
    expect(share(adapter.rooms, 's2', 's3')).toBe(true);
  });

  test('are not created by a connection or a delivery', async () => {
    const node = await startNode(alone);
    const pairs = [await pairOn(node), await pairOn(node), await pairOn(node), await pairOn(node)];
    const [one, two, three] = pairs.map(({ socket }) => socket) as [Socket, Socket, Socket];
    for (const { id } of [one, two]) node.io.to(id).emit('to one');
    one.broadcast.emit('to others');
    one.to(two.id).except(three.id).emit('to another');
    expect(await node.io.in(two.id).fetchSockets()).toHaveLength(1);
    const { rooms, sids } = node.io.of('/').adapter;
    for (const sets of [rooms, sids]) {
      expect(pairs.map(({ socket }) => share(sets, one.id, socket.id))).toEqual([true, true, true, true]);
    }
    disconnectAll();
    await until(() => sids.size === 0);
    expect(rooms.size).toBe(0);
    await node.close();
  });

  test('stay plain Maps where an adapter adds to them in its own way', () => {
    class Own extends Adapter {
      override addAll(id: string, rooms: Set<string>) {
        return super.addAll(id, rooms);
      }
    }
    const { rooms, sids } = withRoomSets(new Own(new Server().of('/')));
    for (const sets of [rooms, sids]) expect(sets).not.toBeInstanceOf(RoomSets);
  });
});
