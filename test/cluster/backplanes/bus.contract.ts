import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Backplane } from '../../../src/cluster/backplanes/backplane.js';
import { countSockets, fetchReachableSockets } from '../../../src/io/rooms/cluster-sockets.js';
import { disconnectAll, type Pair, pairOn, receivedBy } from '../../io/rooms/support/clients.js';
import { startMember, type TestNode } from '../../io/rooms/support/node.js';
import { nextEvent } from '../../support/clients.js';
import { until } from '../../support/until.js';
import { answersContract } from './answers.contract.js';

/** A bus under test: what it runs on, and how a worker joins it. */
export interface BusFixture {
  openBackplane(): Promise<Backplane>;
  /** Sends messages that no worker of ours would send. Resolves with how many each worker must at least drop. */
  sendGarbage(): Promise<number>;
  remove(): Promise<void>;
}

const WORKERS = 3;
type Member = TestNode & { bus: Backplane };

/** What every bus does; `options.answersForTheDead` where a worker that dies is not waited for. */
export function busContract(
  name: string,
  start: () => Promise<BusFixture>,
  options: { answersForTheDead?: boolean } = {},
): void {
  describe(`the ${name} bus`, () => {
    let fixture: BusFixture;
    let members: Member[];
    let pairs: Pair[];

    beforeAll(async () => {
      fixture = await start();
      members = [];
      for (let count = 0; count < WORKERS; count++) members.push(await startMember(await fixture.openBackplane()));
      for (const { io } of members) {
        io.of(/^\/dynamic-\d+$/);
        await allCount(members, '/', WORKERS);
        io.on('sum', (a: number, b: number, reply: (sum: number) => void) => reply(a + b));
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

    test('brings everything to every worker, once and in the order of each sender', async () => {
      for (let number = 0; number < 100; number++) {
        for (const [sender, { io }] of members.entries()) io.emit('said', sender, number);
      }
      const said = Array.from({ length: 100 }, (_, number) => number);
      for (const received of await receivedBy(pairs, members)) {
        expect(received).toHaveLength(100 * WORKERS);
        for (const sender of members.keys()) {
          expect(received.filter((values) => values[1] === sender).map((values) => values[2])).toEqual(said);
        }
      }
    });

    test('keeps unicast, broadcast and joins of one worker in order for its own clients', async () => {
      const { socket, received } = pairs[0]!;
      const { io } = members[0]!;
      socket.emit('n', 1);
      io.emit('n', 2);
      socket.emit('n', 3);
      io.socketsJoin('late');
      await nextTurn();
      io.to('late').emit('n', 4);
      socket.emit('n', 5);
      await receivedBy(pairs, members);
      expect(received.filter(([event]) => event === 'n').map((values) => values[1])).toEqual(
        name === 'redis' ? expect.arrayContaining([1, 2, 3, 5]) : [1, 2, 3, 4, 5],
      );
    });

    test('rooms span workers; who is in several hears it once, who is excepted does not', async () => {
      const [first, second, third] = pairs as [Pair, Pair, Pair];
      await Promise.all([first.socket.join(['a', 'b']), second.socket.join(['b', 'c']), third.socket.join('c')]);
      members[2]!.io.to('a').emit('to a');
      members[2]!.io.to(['a', 'b']).emit('to a and b');
      members[0]!.io.to('c').except('b').emit('to c but not b');
      members[1]!.io.except('c').emit('to all but c');
      first.socket.to('b').emit('to b by the first');
      second.socket.broadcast.emit('to all by the second');
      const received = await receivedBy(pairs, members, ['a', 'b', 'c']);
      expect(received.map((events) => events.flat().sort())).toEqual([
        ['to a', 'to a and b', 'to all but c', 'to all by the second'],
        ['to a and b', 'to b by the first'],
        ['to all by the second', 'to c but not b'],
      ]);
    });

    test('local stays on the worker; volatile and uncompressed messages arrive everywhere', async () => {
      let received: unknown[][] = [];
      // A busy worker drops volatile messages.
      await until(async () => {
        for (const pair of pairs) pair.received.length = 0;
        members[1]!.io.volatile.emit('volatile');
        members[1]!.io.local.emit('local');
        members[1]!.io.compress(false).emit('uncompressed');
        received = (await receivedBy(pairs, members)).map((events) => events.flat());
        return received.every((events) => events.includes('volatile'));
      });
      expect(received).toEqual([
        ['volatile', 'uncompressed'],
        ['volatile', 'local', 'uncompressed'],
        ['volatile', 'uncompressed'],
      ]);
    });

    test('carries binary data, text of all kinds, and nothing at all', async () => {
      const bytes = Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte));
      const value = { bytes, text: 'ünïcödé ✓ 𝄞 \u2028', list: [null, true, -1.5, ['']], empty: Buffer.alloc(0) };
      members[0]!.io.emit('value', value, bytes);
      members[0]!.io.emit('nothing');
      for (const received of await receivedBy(pairs, members)) {
        expect(received).toEqual([['value', value, bytes], ['nothing']]);
      }
    });

    test('members on polling hear the same', async () => {
      const polling = await Promise.all(members.map((member) => pairOn(member, { transports: ['polling'] })));
      await Promise.all([...pairs, ...polling].map(({ socket }) => socket.join('mixed')));
      for (let number = 0; number < 20; number++) members[number % WORKERS]!.io.to('mixed').emit('n', number);
      for (const received of await receivedBy([...pairs, ...polling], members, ['mixed'])) {
        expect(received.map((values) => values[1]).sort(byNumber)).toEqual(Array.from({ length: 20 }, (_, n) => n));
      }
    });

    test('fetchSockets finds sockets on every worker', async () => {
      for (const [index, { socket }] of pairs.entries()) socket.data = { index, nested: { list: [index] } };
      await pairs[2]!.socket.join('found');
      const all = await members[0]!.io.fetchSockets();
      expect(all.map(({ id }) => id).sort()).toEqual(pairs.map(({ socket }) => socket.id).sort());
      const [found, ...others] = await members[0]!.io.in('found').fetchSockets();
      expect(others).toEqual([]);
      expect(found).toMatchObject({ id: pairs[2]!.socket.id, data: { index: 2, nested: { list: [2] } } });
      expect([...found!.rooms].sort()).toEqual(['found', pairs[2]!.socket.id].sort());
      expect(await members[1]!.io.local.fetchSockets()).toHaveLength(1);
    });

    test('sockets and servers send each other any number of attachments', async () => {
      // The stock adapter of Redis sends these as JSON.
      const arriving = <T>(value: T): T => (name === 'redis' ? JSON.parse(JSON.stringify(value)) : value);
      const more = await Promise.all(Array.from({ length: 10 }, () => pairOn(members[1]!)));
      const sockets = [pairs[1]!, ...more].map(({ socket }) => socket);
      for (const [index, socket] of sockets.entries()) {
        socket.data = { bytes: Buffer.of(index) };
        await socket.join('bytes');
      }
      const fetched = await members[0]!.io.in('bytes').fetchSockets();
      expect(new Map(fetched.map(({ id, data }) => [id, data]))).toEqual(
        new Map(sockets.map(({ id, data }) => [id, arriving(data)])),
      );
      const buffers = Array.from({ length: 11 }, (_, index) => Buffer.of(index));
      const heard = members.slice(1).map(({ io }) => nextEvent(io, 'files'));
      members[0]!.io.serverSideEmit('files', ...buffers);
      expect(await Promise.all(heard)).toEqual([arriving(buffers), arriving(buffers)]);
    });

    test('sockets on every worker are counted, and fetched from those that answer', async () => {
      for (const [index, { socket }] of pairs.entries()) socket.data = { index };
      await Promise.all([pairs[0]!.socket.join(['one', 'two']), pairs[2]!.socket.join('two')]);
      const [{ io }] = members as [Member];
      expect(await countSockets(io)).toEqual({ sockets: WORKERS, isComplete: true });
      expect(await countSockets(io.of('/'), 'two')).toEqual({ sockets: 2, isComplete: true });
      expect(await countSockets(io, ['one', 'two', 'none'])).toEqual({ sockets: 2, isComplete: true });
      const { sockets, isComplete } = await fetchReachableSockets(io, 'two');
      expect(isComplete).toBe(true);
      expect(sockets.map(({ id, data }) => [id, data])).toEqual([
        [pairs[0]!.socket.id, { index: 0 }],
        [pairs[2]!.socket.id, { index: 2 }],
      ]);
      sockets[1]!.emit('found');
      expect(await receivedBy(pairs, members)).toEqual([[], [], [['found']]]);
    });

    test('socketsJoin and socketsLeave reach sockets on every worker', async () => {
      members[0]!.io.except(pairs[1]!.socket.id).socketsJoin('moved');
      await until(() => pairs[0]!.socket.rooms.has('moved') && pairs[2]!.socket.rooms.has('moved'));
      await Promise.all(members.map(({ bus }) => bus.ready()));
      members[1]!.io.to('moved').emit('moved');
      expect((await receivedBy(pairs, members, ['moved'])).map((events) => events.length)).toEqual([1, 0, 1]);

      members[1]!.io.in('moved').socketsLeave('moved');
      await until(() => pairs.every(({ socket }) => !socket.rooms.has('moved')));
      members[1]!.io.to('moved').emit('nobody');
      expect((await receivedBy(pairs, members)).flat()).not.toContainEqual(['nobody']);
    });

    test('disconnectSockets reaches sockets on every worker', async () => {
      const gone = [0, 2].map((index) => nextEvent<[string]>(pairs[index]!.client, 'disconnect'));
      members[1]!.io.except(pairs[1]!.socket.id).disconnectSockets(true);
      expect((await Promise.all(gone)).map(([reason]) => reason)).toEqual(Array(2).fill('io server disconnect'));
      expect(pairs[1]!.client.connected).toBe(true);
    });

    test('serverSideEmit reaches the other workers, with and without replies', async () => {
      const heard = members.slice(1).map(({ io }) => nextEvent(io, 'news'));
      members[0]!.io.on('news', () => {
        throw new Error('the sender is told');
      });
      members[0]!.io.serverSideEmit('news', { list: [1, 'two', null] });
      expect(await Promise.all(heard)).toEqual(members.slice(1).map(() => [{ list: [1, 'two', null] }]));
      expect(await members[1]!.io.serverSideEmitWithAck('sum', 2, 3)).toEqual([5, 5]);
      members[0]!.io.removeAllListeners('news');
    });

    test('a broadcast with acknowledgement collects the answers of all clients', async () => {
      for (const [index, { client }] of pairs.entries()) {
        client.on('ask', (value: unknown, reply: (answer: unknown) => void) => reply({ index, value }));
      }
      const value = Buffer.from([1, 2, 3]);
      const answers = (await members[1]!.io.timeout(20_000).emitWithAck('ask', value)) as { index: number }[];
      expect(answers.sort((a, b) => a.index - b.index)).toEqual([0, 1, 2].map((index) => ({ index, value })));

      const [remote] = await members[0]!.io.in(pairs[2]!.socket.id).fetchSockets();
      const answer = await (remote as unknown as Remote).timeout(20_000).emitWithAck('ask', 'one');
      expect(answer).toEqual({ index: 2, value: 'one' });
    });

    answersContract(
      name === 'redis',
      () => members,
      () => pairs,
    );

    test('namespaces that are made when somebody comes are joined too', async () => {
      const namespace = '/dynamic-7';
      const guests = await Promise.all(members.map((member) => pairOn(member, { namespace })));
      await allCount(members, namespace, WORKERS);
      await Promise.all(members.map(({ bus }) => bus.ready()));
      members[0]!.io.of(namespace).emit('hello');
      members[0]!.io.emit('to others');
      expect((await receivedBy(guests, members)).map((events) => events.flat())).toEqual([
        ['hello'],
        ['hello'],
        ['hello'],
      ]);
      expect(await members[1]!.io.of(namespace).fetchSockets()).toHaveLength(WORKERS);
    });

    test('malformed messages are counted and dropped, and end nothing', async () => {
      await pairs[0]!.socket.join('clean');
      const before = members.map(({ bus }) => bus.health.malformed);
      const count = await fixture.sendGarbage();
      expect(count).toBeGreaterThan(5);
      await until(() => members.every(({ bus }, index) => bus.health.malformed >= before[index]! + count));
      members[2]!.io.to('clean').emit('still here');
      expect(await receivedBy(pairs, members, ['clean'])).toEqual([[['still here']], [], []]);
      expect(await members[1]!.io.fetchSockets()).toHaveLength(WORKERS);
      expect(await members[1]!.io.serverSideEmitWithAck('sum', 2, 3)).toEqual([5, 5]);
      expect(pairs.every(({ client }) => client.connected)).toBe(true);
      for (const { bus } of members) expect(bus.health.isUp).toBe(true);
    });

    test('a worker that leaves in the middle is not missed', async () => {
      const leaving = await startMember(await fixture.openBackplane());
      const guest = await pairOn(leaving);
      await allCount(members, '/', WORKERS + 1);
      expect(await members[0]!.io.fetchSockets()).toHaveLength(WORKERS + 1);
      let asked: Promise<unknown[]> | undefined;
      if (options.answersForTheDead) {
        for (const { client } of pairs) client.on('late', (reply: (value: string) => void) => reply('here'));
        guest.client.on('late', () => leaving.io.emit('asked'));
        const heard = nextEvent(pairs[0]!.client, 'asked');
        const answers = members[0]!.io.timeout(2000).emitWithAck('late');
        await heard;
        // It never answers, because it is gone before.
        leaving.io.on('sum', () => leaving.bus.close());
        asked = members[0]!.io.serverSideEmitWithAck('sum', 1, 1);
        expect(await asked).toEqual([2, 2]);
        // As with stock: its client got the event, and does not answer.
        await expect(answers).rejects.toMatchObject({
          message: 'operation has timed out',
          responses: pairs.map(() => 'here'),
        });
        for (const { received } of pairs) received.length = 0;
      }
      const left = nextEvent(guest.client, 'disconnect');
      await leaving.close();
      await left;
      await allCount(members, '/', WORKERS);
      expect(await members[0]!.io.fetchSockets()).toHaveLength(WORKERS);
      members[2]!.io.emit('still here');
      expect(await receivedBy(pairs, members)).toEqual(pairs.map(() => [['still here']]));
    });
  });
}

interface Remote {
  timeout(ms: number): { emitWithAck(event: string, value: unknown): Promise<unknown> };
}

const byNumber = (a: unknown, b: unknown) => Number(a) - Number(b);

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Waits until each worker knows of so many. */
async function allCount(members: readonly TestNode[], namespace: string, count: number): Promise<void> {
  for (const { io } of members) {
    await until(async () => !io._nsps.has(namespace) || (await io.of(namespace).adapter.serverCount()) >= count);
  }
}
