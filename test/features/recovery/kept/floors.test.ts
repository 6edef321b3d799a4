import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Backplane } from '../../../../src/cluster/backplanes/backplane.js';
import { BroadcastNumbers } from '../../../../src/features/recovery/broadcast-numbers.js';
import { FloorCheck, Floors } from '../../../../src/features/recovery/keeper/memory.js';
import { temporaryFolder } from '../../../support/folder.js';
import { until } from '../../../support/until.js';
import { joinMesh, ofTest, type Wanderer } from '../support/recovering.js';

/** What was sent to a room before a client joined it is not for that client, whatever its offset says. */

describe('a client that joins a room', () => {
  let directory: string;
  let buses: Backplane[];
  const { nodes, enter, away, start } = ofTest();

  beforeEach(async () => {
    directory = temporaryFolder();
    buses = [];
    for (const id of [1, 2, 3]) {
      const others = [1, 2, 3].filter((other) => other < id);
      const bus = await joinMesh(directory, id, others);
      buses.push(bus);
      const node = await start(bus);
      node.io.on('connection', (socket) => {
        socket.on('join', async (room: string, done: () => void) => {
          await socket.join(room);
          done();
        });
        socket.on('leave', async (room: string, done: () => void) => {
          await socket.leave(room);
          done();
        });
        if (!socket.recovered) socket.emit('n', 'hello', 0);
      });
    }
  });

  const client = (at = 0) => enter(nodes[at]!);

  /** A message that all workers have delivered. */
  async function emit(from: number, room: string, number: number): Promise<void> {
    const witnesses = await Promise.all(nodes.map((_, at) => client(at)));
    for (const one of witnesses) await one.socket.emitWithAck('join', room);
    nodes[from]!.io.to(room).emit('n', room, number);
    for (const one of witnesses) await until(() => one.of(room).includes(number));
    for (const one of witnesses) one.close();
  }

  const claim = (wanderer: Wanderer, offset: string) => {
    (wanderer.socket as unknown as { _lastOffset: string })._lastOffset = offset;
  };

  test.each([0, 1, 2])(
    'does not get older messages on worker %d, also when its offset is of before them',
    async (at) => {
      const wanderer = await client();
      await emit(1, 'room', 1);
      const { offset } = wanderer.credentials;
      await emit(1, 'secret', 1);
      await emit(0, 'secret', 2);
      await wanderer.socket.emitWithAck('join', 'secret');
      await emit(1, 'secret', 3);
      await away(wanderer);
      await emit(2, 'secret', 4);
      claim(wanderer, offset);
      await wanderer.comeBack(nodes[at]!.url);
      expect(wanderer.recovered).toEqual([true]);
      await until(() => wanderer.of('secret').includes(4));
      expect(wanderer.of('secret')).toEqual([3, 3, 4]);
      // Once more, on another worker.
      await away(wanderer);
      claim(wanderer, offset);
      await wanderer.comeBack(nodes[(at + 1) % 3]!.url);
      expect(wanderer.recovered[1]).toBe(true);
      await until(() => wanderer.of('secret').filter((one) => one === 4).length === 2);
      expect(wanderer.of('secret')).not.toContain(1);
      expect(wanderer.of('secret')).not.toContain(2);
    },
    20_000,
  );

  test('does not get them after its worker was killed either', async () => {
    const wanderer = await client();
    const { offset } = wanderer.credentials;
    await emit(1, 'secret', 1);
    await wanderer.socket.emitWithAck('join', 'secret');
    await emit(1, 'secret', 2);
    buses[0]!.close();
    wanderer.socket.io.engine.close();
    claim(wanderer, offset);
    await wanderer.comeBack(nodes[2]!.url);
    expect(wanderer.recovered).toEqual([true]);
    await until(() => wanderer.of('secret').length === 2);
    expect(wanderer.of('secret')).toEqual([2, 2]);
  });

  test('does not get what all clients got before it connected', async () => {
    const other = await client();
    await emit(1, 'room', 1);
    const { offset } = other.credentials;
    nodes[1]!.io.emit('n', 'all', 1);
    await other.heardAll(2);
    const wanderer = await client();
    await away(wanderer);
    nodes[1]!.io.emit('n', 'all', 2);
    await until(() => other.of('all').length === 2);
    claim(wanderer, offset);
    await wanderer.comeBack(nodes[0]!.url);
    expect(wanderer.recovered).toEqual([true]);
    await until(() => wanderer.of('all').length > 0);
    expect(wanderer.of('all')).toEqual([2]);
  });

  test('gets nothing from between leaving and joining again, and everything if it joins twice', async () => {
    const wanderer = await client();
    await wanderer.socket.emitWithAck('join', 'left');
    await wanderer.socket.emitWithAck('join', 'kept');
    const { offset } = wanderer.credentials;
    await emit(1, 'kept', 1);
    await wanderer.socket.emitWithAck('leave', 'left');
    await emit(1, 'left', 1);
    await wanderer.socket.emitWithAck('join', 'left');
    await wanderer.socket.emitWithAck('join', 'kept');
    await away(wanderer);
    await emit(1, 'left', 2);
    claim(wanderer, offset);
    await wanderer.comeBack(nodes[1]!.url);
    expect(wanderer.recovered).toEqual([true]);
    await until(() => wanderer.of('left').length > 0);
    expect([wanderer.of('left'), wanderer.of('kept')]).toEqual([[2], [1, 1]]);
  });
});

const content = { rooms: [], except: [], packets: ['2["x"]'] };

test('a floor is what the worker had received, and sockets that join meanwhile share it', () => {
  const log = new BroadcastNumbers('1', () => 60_000, { direct: 0, broadcasts: 0 });
  log.add(['2', 5, Date.now()], content);
  const floor = log.floor();
  expect(log.floor()).toBe(floor);
  log.add(['2', 6, Date.now()], content);
  expect(log.floor()).not.toBe(floor);
  const check = new FloorCheck([floor, { ...log.floor(), rooms: ['late'] }]);
  const is = (room: string | undefined, sender: string, number: number, at = Date.now()) =>
    check.isAbove(room === undefined ? [] : [room], sender, { number, at });
  expect([is('a', '2', 5), is('a', '2', 6), is(undefined, '2', 5), is(undefined, '2', 6)]).toEqual([
    ...[false, true],
    ...[false, true],
  ]);
  expect([is('late', '2', 6), is('late', '2', 7)]).toEqual([false, true]);
  // A worker that had sent nothing that this one knew.
  expect([is('a', '3', 1), is('a', '3', 1, Date.now() - 5000)]).toEqual([true, false]);
});

test('floors are forgotten with the packets, and travel with the session', () => {
  const [first, second] = [1000, 2000].map((at) => ({ at, numbers: '~2.5' }));
  const floors = new Floors(first);
  floors.join('same', first!);
  floors.join('a', second!);
  floors.join('b', second!);
  const state = floors.state();
  expect(state).toEqual([first, { ...second, rooms: ['a', 'b'] }]);
  expect(Floors.of(state).state()).toEqual(state);
  expect(floors.dropBefore(1500)).toBe(true);
  floors.leave('a');
  expect(floors.state()).toEqual([{ ...second, rooms: ['b'] }]);
  expect(floors.dropBefore(2500)).toBe(false);
  expect(floors.state()).toEqual([]);
});

test('malformed numbers of a floor are left out', () => {
  expect(new FloorCheck(undefined).isAbove(['a'], '2', { number: 1, at: 1 })).toBe(true);
  const check = new FloorCheck([{ at: 0, numbers: '~x~2.~.5~2.5.5~3.4' }]);
  expect(check.isAbove(['a'], '3', { number: 4, at: 1 })).toBe(false);
});
