import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { io as connect } from 'socket.io-client';
import type { Backplane } from '../../../src/cluster/backplanes/backplane.js';
import { depart, departing, expectArrival } from '../../../src/features/recovery/index.js';
import { startMember, type TestNode } from '../../io/rooms/support/node.js';
import { nextEvent } from '../../support/clients.js';
import { until } from '../../support/until.js';
import { Wanderer } from './support/recovering.js';

export interface RecoveryFixture {
  openBackplane(): Promise<Backplane>;
  remove(): Promise<void>;
}

/** What recovery does on each backplane that can keep packets. */
export function recoveryContract(name: string, workers: number, start: () => Promise<RecoveryFixture>): void {
  describe(`recovery on the ${name} bus`, () => {
    let fixture: RecoveryFixture;
    const nodes: TestNode[] = [];
    const clients: Wanderer[] = [];
    let middleware: () => Promise<void>;

    beforeAll(async () => {
      fixture = await start();
      middleware = () => Promise.resolve();
      for (let count = 0; count < workers; count++) {
        const node = await startMember(await fixture.openBackplane(), {
          server: { connectionStateRecovery: { skipMiddlewares: false } },
        });
        nodes.push(node);
        node.io.use((_socket, next) => void middleware().then(() => next(), next));
        node.io.on('connection', (socket) => {
          socket.on('join', async (room: string, done: () => void) => {
            await socket.join(room);
            socket.data.joined = room;
            done();
          });
          socket.on('rooms', (done: (rooms: string[], data: unknown) => void) => done([...socket.rooms], socket.data));
          if (!socket.recovered) socket.emit('n', 'hello', 0);
        });
      }
      for (const { io } of nodes) await until(async () => (await io.of('/').adapter.serverCount()) === workers);
    });

    afterEach(async () => {
      middleware = () => Promise.resolve();
      for (const client of clients.splice(0)) client.close();
      await until(() => nodes.every(({ io }) => io.engine.clientsCount === 0));
    });

    afterAll(async () => {
      for (const node of nodes) await node.close();
      await fixture.remove();
    });

    async function client(at: number, transport: 'websocket' | 'polling' = 'websocket', room?: string) {
      const wanderer = new Wanderer(nodes[at]!.url, transport);
      clients.push(wanderer);
      await wanderer.connected();
      if (room) await wanderer.socket.emitWithAck('join', room);
      await wanderer.heardAll(1);
      return wanderer;
    }

    const gone = (id: string | undefined) => until(() => nodes.every(({ io }) => !io.of('/').sockets.has(id!)));

    test.each(['websocket', 'polling'] as const)('brings a client on %s back on another worker', async (transport) => {
      const wanderer = await client(0, transport, 'room');
      const other = await client(1, 'websocket', 'room');
      const { id } = wanderer.socket;
      const socket = nodes[0]!.io.of('/').sockets.get(id!)!;
      socket.emit('n', 'direct', 1);
      await wanderer.heardAll(2);
      await wanderer.cutOff();
      await gone(id);
      nodes[0]!.io.to('room').emit('n', 'room', 1);
      nodes[1]!.io.emit('n', 'all', 1);
      nodes.at(-1)!.io.to(id!).emit('n', 'own', 1);
      nodes[1]!.io.to('elsewhere').emit('n', 'elsewhere', 1);
      nodes[1]!.io.to('room').except(id!).emit('n', 'excepted', 1);
      nodes[1]!.io.volatile.emit('n', 'volatile', 1);
      await other.heardAll(4);
      await wanderer.comeBack(nodes[1]!.url);
      expect(wanderer.recovered).toEqual([true]);
      expect(wanderer.socket.id).toBe(id);
      expect(await wanderer.socket.emitWithAck('rooms')).toEqual([id, 'room']);
      nodes[0]!.io.to('room').emit('n', 'room', 2);
      await until(() => wanderer.of('room').length === 2);
      const since = wanderer.heard.slice(2).map((message) => message.join());
      expect(since.slice(0, 3).sort()).toEqual(['all,1', 'own,1', 'room,1']);
      expect(since.slice(3)).toEqual(['room,2']);
      expect(other.of('excepted')).toEqual([1]);
    });

    test.each([
      ['nothing since before its connection was handed over twice', false],
      ['something between two workers that handed over its connection', true],
    ])('brings a client back that has received %s', async (_what, hasReceived) => {
      const wanderer = await client(0, 'websocket', 'room');
      const { id } = wanderer.socket;
      await wanderer.cutOff();
      await gone(id);
      await wanderer.comeBack(nodes[1]!.url);
      // The other workers miss a message to an id.
      const other = await client(1);
      nodes[0]!.io.to(other.socket.id!).emit('n', 'other', 1);
      await other.heardAll(2);
      let connection = wanderer.socket;
      const move = async (from: number, to: number) => {
        const socket = nodes[from]!.io.of('/').sockets.get(id!)!;
        const auth = depart(socket)!;
        const left = nextEvent(connection, 'disconnect');
        departing.add(id!);
        socket.conn.close(true);
        departing.delete(id!);
        await left;
        const arrived = new Promise((resolve) => expectArrival(auth.pid, resolve));
        const { url } = nodes[to % workers]!;
        connection = connect(url, { forceNew: true, transports: ['websocket'], reconnection: false, auth });
        expect(await arrived).toBe(true);
      };
      await move(1, 2);
      if (hasReceived) {
        const received = nextEvent(connection, 'n');
        nodes[0]!.io.to('room').emit('n', 'between', 1);
        const [, , offset] = (await received) as [string, number, string];
        Object.assign(wanderer.socket, { _lastOffset: offset });
      }
      // Not even what was sent to it alone last.
      nodes[2 % workers]!.io.of('/').sockets.get(id!)!.emit('n', 'unheard', 1);
      await move(2 % workers, 3);
      // Its worker is killed, or nobody can reach it.
      const lost = nextEvent(connection, 'disconnect');
      connection.io.engine.close();
      await lost;
      await gone(id);
      nodes[0]!.io.to('room').emit('n', 'room', 1);
      nodes[0]!.io.to(id!).emit('n', 'own', 1);
      await wanderer.comeBack(nodes[0]!.url);
      expect(wanderer.recovered).toEqual([true, true]);
      nodes[0]!.io.to('room').emit('n', 'room', 2);
      await until(() => wanderer.of('room').length === 2);
      const heard = wanderer.heard.map((message) => message.join()).sort();
      expect(heard).toEqual(['hello,0', 'own,1', 'room,1', 'room,2', 'unheard,1']);
    });

    test('brings the data of the socket and binary packets', async () => {
      const wanderer = await client(0);
      const got: unknown[] = [];
      wanderer.socket.on('bytes', (...values: unknown[]) => got.push(values.slice(0, -1)));
      const socket = nodes[0]!.io.of('/').sockets.get(wanderer.socket.id!)!;
      const date = new Date();
      socket.data = { name: 'ann', date, map: new Map([[1, 2]]), text: '"~\u2028' };
      await wanderer.cutOff();
      nodes[1]!.io.emit('bytes', Buffer.from([1, 2]), { more: Buffer.from([3]) }, 'text');
      nodes[0]!.io.to(socket.id).emit('bytes', 1);
      await wanderer.comeBack(nodes[1]!.url);
      expect(wanderer.recovered).toEqual([true]);
      expect(nodes[1]!.io.of('/').sockets.get(socket.id)!.data).toEqual({
        ...{ name: 'ann', date, map: new Map([[1, 2]]), text: '"~\u2028' },
      });
      await until(() => got.length === 2);
      expect(got.sort((a, b) => String(a).length - String(b).length)).toEqual([
        [1],
        [Buffer.from([1, 2]), { more: Buffer.from([3]) }, 'text'],
      ]);
    });

    test('loses nothing while a middleware decides on a client, and forgets nobody whom it rejects', async () => {
      const wanderer = await client(0, 'websocket', 'room');
      await wanderer.cutOff();
      await gone(wanderer.socket.id);
      nodes[0]!.io.to('room').emit('n', 'missed', 1);
      middleware = () => Promise.reject(new Error('not now'));
      (wanderer.socket.io as unknown as { uri: string }).uri = nodes[1]!.url;
      const rejected = nextEvent(wanderer.socket, 'connect_error');
      wanderer.socket.connect();
      await rejected;
      middleware = async () => {
        nodes[0]!.io.to('room').emit('n', 'missed', 2);
        const [socket] = await nodes[1]!.io.of('/').fetchSockets();
        expect(socket).toBeUndefined();
        nodes[1]!.io.to('room').emit('n', 'here', 1);
      };
      await wanderer.comeBack(nodes[1]!.url);
      expect(wanderer.recovered).toEqual([true]);
      await wanderer.heardAll(4);
      expect([wanderer.of('missed'), wanderer.of('here')]).toEqual([[1, 2], [1]]);
    });

    if (name !== 'redis')
      test('a message to an id reaches the worker of the socket alone, also after a return', async () => {
        const wanderer = await client(0);
        const { id } = wanderer.socket;
        const brought = nodes.map(({ io }) => {
          const numbers: unknown[] = [];
          io.of('/').adapter.on('broadcast', ({ data }: { data: unknown[] }) => {
            if (data[1] === 'to the id') numbers.push(data[2]);
          });
          return numbers;
        });
        const seen = async (from: number, number: number) => {
          nodes[from]!.io.to(id!).emit('n', 'to the id', number);
          nodes[from]!.io.emit('n', 'to all', number);
          await until(() => wanderer.of('to all').includes(number));
          return brought.flatMap((numbers, at) => (at !== from && numbers.includes(number) ? [at] : []));
        };
        const last = workers - 1;
        expect(await seen(last, 1)).toEqual([0]);
        // A packet to one socket of the own worker alone is not even a broadcast.
        expect(await seen(0, 2)).toEqual([]);
        await wanderer.cutOff();
        await gone(id);
        await wanderer.comeBack(nodes[1]!.url);
        expect(await seen(0, 3)).toEqual([1]);
        expect(await seen(last, 4)).toEqual(last === 1 ? [] : [0, 1]);
        expect(wanderer.of('to the id')).toEqual([1, 2, 3, 4]);
        for (const { io } of nodes) io.of('/').adapter.removeAllListeners('broadcast');
      });

    test('sends it to them after a return, too, and however many rooms are named like sockets', async () => {
      const wanderer = await client(0);
      const { id } = wanderer.socket;
      const [one, other, late] = [await client(0), await client(1), await client(1)];
      // Claims of rooms take a moment each on other buses. No socket may be in as many rooms.
      const count = name === 'embedded' ? 5_250 : 100;
      for (const [at, { socket }] of [other, late].entries()) {
        const many = Array.from({ length: count }, (_, index) => `${at}${String(index).padStart(19, '_')}`);
        await nodes[1]!.io.of('/').sockets.get(socket.id!)!.join(many);
      }
      await other.socket.emitWithAck('join', id);
      await until(() => {
        nodes[0]!.io.to(id!).emit('n', 'before', 1);
        return other.of('before').length > 0;
      });
      await one.socket.emitWithAck('join', id);
      await wanderer.cutOff();
      await gone(id);
      await late.socket.emitWithAck('join', id);
      await wanderer.comeBack(nodes[1]!.url);
      nodes[1]!.io.to(id!).emit('n', 'after', 1);
      await until(() => [wanderer, one, other, late].every((each) => each.of('after').length === 1));
    });

    test('tells rooms apart that have the same text, and ends for none', async () => {
      const wanderer = await client(0, 'websocket', 7 as unknown as string);
      const { id } = wanderer.socket;
      await wanderer.socket.emitWithAck('join', [['list']]);
      await wanderer.socket.emitWithAck('join', { toString: 1 });
      const named = ['7', 'list', '[object Object]', { toString: 1 } as unknown as string];
      for (const { io } of nodes) for (const room of named) io.to(room).emit('n', 'wrong', 1);
      await wanderer.cutOff();
      await gone(id);
      for (const { io } of nodes) for (const room of named) io.to(room).emit('n', 'wrong', 1);
      for (const { io } of nodes) io.to(7 as unknown as string).emit('n', 'right', 1);
      await wanderer.comeBack(nodes[1]!.url);
      // Objects are kept only in the process in which they were joined, while something refers to them.
      const rooms: unknown[] = await wanderer.socket.emitWithAck('rooms');
      expect(rooms.filter((room) => typeof room !== 'object')).toEqual([id, 7]);
      for (const { io } of nodes) for (const room of named) io.to(room).emit('n', 'wrong', 1);
      nodes[0]!.io.to(7 as unknown as string).emit('n', 'right', 2);
      await until(() => wanderer.of('right').length === nodes.length + 1);
      expect(wanderer.of('wrong')).toEqual([]);
    });

    test('gives a new session to unknown clients, wrong offsets and clients that left', async () => {
      const wanderer = await client(0);
      const { pid, offset } = wanderer.credentials;
      const { id } = wanderer.socket;
      wanderer.close();
      await gone(id);
      for (const auth of [
        { pid, offset },
        { pid: 'unknown', offset },
        { pid, offset: '1.5' },
        { pid, offset: 'g~' },
        { pid, offset: `g~1~${'x.1~'.repeat(10_000)}` },
      ]) {
        const socket = connect(nodes[1]!.url, { forceNew: true, auth, transports: ['websocket'] });
        await nextEvent(socket, 'connect');
        expect(nodes[1]!.io.of('/').sockets.get(socket.id!)!.recovered).toBe(false);
        socket.disconnect();
      }
    });
  });
}
