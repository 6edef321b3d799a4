import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Backplane } from '../../../src/cluster/backplanes/backplane.js';
import { NOWHERE, pack, senderOf } from '../../../src/cluster/wire/envelope.js';
import { emittedHead } from '../../../src/cluster/wire/hub-frame.js';
import { types } from '../../../src/cluster/wire/types.js';
import { disconnectAll, type Pair, pairOn } from '../../io/rooms/support/clients.js';
import { startMember, type TestNode } from '../../io/rooms/support/node.js';
import { nextEvent } from '../../support/clients.js';
import { until } from '../../support/until.js';

interface Target {
  to(rooms: string | string[]): Target;
  in(rooms: string | string[]): Target;
  except(rooms: string | string[]): Target;
  readonly volatile: Target;
  compress(compress: boolean): Target;
  emit(event: string, ...values: unknown[]): boolean;
  socketsJoin(rooms: string | string[]): void;
  socketsLeave(rooms: string | string[]): void;
  disconnectSockets(close?: boolean): void;
}

const emitted = (type: number, body: string) =>
  Buffer.concat([emittedHead(), pack({ type, part: 0, from: senderOf(0, NOWHERE), to: 'all' }, body)]);

/** Not of the form that its type requires, incomplete, and of a type that only workers send. The hub drops the last two. */
export const GARBAGE = [
  emitted(types.broadcast, '7'),
  emitted(types.socketsJoin, '2{'),
  emitted(types.broadcast, '').subarray(0, -1),
  emitted(types.added, '\0\0\0\0'),
];

/** What the emitter of `@socket.io/redis-emitter` and that of gjallar have in common. */
export interface AnyEmitter extends Target {
  of(nsp: string): AnyEmitter;
  serverSideEmit(event: string, ...values: unknown[]): void;
}

export interface EmitterFixture {
  openBackplane(): Promise<Backplane>;
  emitter: AnyEmitter;
  /** Sends what no emitter sends. Resolves with how many messages each worker must drop. */
  sendGarbage?(): Promise<number>;
  remove(): Promise<void>;
}

const WORKERS = 3;
type Member = TestNode & { bus: Backplane };

/** What every emitter does, on every bus that carries its messages. */
export function emitterContract(name: string, start: () => Promise<EmitterFixture>): void {
  describe(`an emitter on ${name}`, () => {
    let fixture: EmitterFixture;
    let members: Member[];
    let pairs: Pair[];

    beforeAll(async () => {
      fixture = await start();
      members = [];
      for (let count = 0; count < WORKERS; count++) members.push(await startMember(await fixture.openBackplane()));
      for (const { io } of members) {
        io.of('/other');
        await until(async () => (await io.of('/').adapter.serverCount()) === WORKERS);
      }
    });

    beforeEach(async () => {
      pairs = await Promise.all(members.map((member) => pairOn(member)));
    });

    afterEach(async () => {
      disconnectAll();
      await until(() => members.every(({ io }) => io.engine.clientsCount === 0));
    });

    afterAll(async () => {
      for (const member of members) await member.close();
      await fixture.remove();
    });

    /** What the clients have received, once the emitter's last message has arrived. */
    async function received(): Promise<unknown[][][]> {
      const ends = pairs.map(({ client }) => nextEvent(client, 'end'));
      fixture.emitter.emit('end');
      await Promise.all(ends);
      return pairs.map((pair) => pair.received.splice(0).filter(([event]) => event !== 'end'));
    }

    test('reaches the members of rooms on every worker, once and in order', async () => {
      const { emitter } = fixture;
      const [first, second, third] = pairs as [Pair, Pair, Pair];
      await Promise.all([first.socket.join(['a', 'b']), second.socket.join(['b', 'c']), third.socket.join('c')]);
      for (let number = 0; number < 100; number++) emitter.emit('n', number);
      emitter.to('a').emit('a');
      emitter.to(['a', 'b']).emit('a or b');
      emitter.in('b').to('c').emit('b or c');
      emitter.to('c').except('b').emit('c, not b');
      emitter.except(['a', 'c']).emit('nobody');
      emitter.compress(false).emit('uncompressed');
      emitter.to(first.socket.id).emit('to one socket');
      const numbers = Array.from({ length: 100 }, (_, number) => ['n', number]);
      expect(await received()).toEqual([
        [...numbers, ['a'], ['a or b'], ['b or c'], ['uncompressed'], ['to one socket']],
        [...numbers, ['a or b'], ['b or c'], ['uncompressed']],
        [...numbers, ['b or c'], ['c, not b'], ['uncompressed']],
      ]);
    });

    test('carries binary data and text of all kinds', async () => {
      const bytes = Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte));
      const value = { bytes, text: 'ünïcödé ✓ 𝄞 \u2028', list: [null, true, -1.5, ['']] };
      fixture.emitter.emit('value', value, bytes);
      expect(await received()).toEqual(pairs.map(() => [['value', value, bytes]]));
    });

    test('sends volatile messages', async () => {
      // A busy worker drops them.
      await until(async () => {
        fixture.emitter.volatile.emit('volatile');
        return (await received()).every((events) => events.length === 1);
      });
    });

    test('moves sockets between rooms, and ends them', async () => {
      const { emitter } = fixture;
      const [first, second, third] = pairs as [Pair, Pair, Pair];
      await Promise.all([first.socket.join('a'), second.socket.join('a'), third.socket.join('a')]);
      emitter.in('a').except(third.socket.id).socketsJoin(['b', 'c']);
      emitter.in(first.socket.id).socketsLeave('c');
      // Some servers handle what concerns rooms apart from what clients receive.
      await until(() => second.socket.rooms.has('c') && first.socket.rooms.has('b') && !first.socket.rooms.has('c'));
      emitter.to('b').emit('b');
      emitter.to('c').emit('c');
      expect(await received()).toEqual([[['b']], [['b'], ['c']], []]);
      const ended = nextEvent(second.client, 'disconnect');
      emitter.in('c').disconnectSockets();
      expect((await ended)[0]).toBe('io server disconnect');
      expect(pairs.map(({ client }) => client.connected)).toEqual([true, false, true]);
    });

    test('reaches other namespaces, and the servers themselves', async () => {
      const { emitter } = fixture;
      const others = await Promise.all(members.map((member) => pairOn(member, { namespace: '/other' })));
      const heard = members.map(({ io }) => nextEvent(io.of('/other') as never, 'hint'));
      emitter.of('other').serverSideEmit('hint', 1, { two: 2 });
      expect(await Promise.all(heard)).toEqual(members.map(() => [1, { two: 2 }]));
      const events = others.map(({ client }) => nextEvent(client, 'event'));
      emitter.of('/other').emit('event', 1);
      expect(await Promise.all(events)).toEqual(others.map(() => [1]));
      expect(await received()).toEqual([[], [], []]);
      expect(() => emitter.serverSideEmit('hint', () => {})).toThrow(/cknowledgements/);
      expect(() => emitter.emit('disconnect')).toThrow(/reserved/);
    });

    test('is no server: none counts it, or waits for its answers', async () => {
      fixture.emitter.emit('n');
      await received();
      for (const { io } of members) {
        expect(await io.of('/').adapter.serverCount()).toBe(WORKERS);
        expect(await io.fetchSockets()).toHaveLength(WORKERS);
      }
    });

    test('what no emitter sends is dropped and counted', async () => {
      if (!fixture.sendGarbage) return;
      const before = members.map(({ bus }) => bus.health.malformed);
      const count = await fixture.sendGarbage();
      await until(() => members.every(({ bus }, index) => bus.health.malformed >= before[index]! + count));
      fixture.emitter.emit('n');
      expect(await received()).toEqual([[['n']], [['n']], [['n']]]);
    });
  });
}
