import { expect, test } from '@jest/globals';
import type { Namespace } from 'socket.io';
import { fetchReachableSockets } from '../../../src/io/rooms/cluster-sockets.js';
import type { Pair } from '../../io/rooms/support/clients.js';
import type { TestNode } from '../../io/rooms/support/node.js';
import { until } from '../../support/until.js';

/** An answer that is nested too deeply for code that walks it by recursion. */
const NESTED = '['.repeat(50_000) + ']'.repeat(50_000);

/**
 * What workers answer each other, whatever applications and clients give them to answer.
 * @param isStockWire whether the answers are those of `@socket.io/redis-adapter`
 */
export function answersContract(isStockWire: boolean, members: () => TestNode[], pairs: () => Pair[]): void {
  const ofJson = isStockWire ? 'rejects data' : 'brings what can be sent of data';
  test(`fetchSockets ${ofJson} that JSON cannot express`, async () => {
    const timer = setTimeout(() => {}, 60_000);
    const cycle: Record<string, unknown> = { ok: true };
    cycle.self = cycle;
    const { socket } = pairs()[1]!;
    const broken = { toJSON: () => Promise.reject.call(undefined) };
    socket.data = { name: 'ada', timer, big: 1n, nested: { list: [1, 2n, 'three'] }, cycle, broken, fn: () => {} };
    Object.assign(socket.handshake, { session: { user: 7, timer } });
    try {
      const expected = { name: 'ada', nested: { list: [1, null, 'three'] }, cycle: { ok: true } };
      const remote = (all: readonly { id: string }[]) => all.find(({ id }) => id === socket.id);
      const [{ io }] = members() as [TestNode];
      if (isStockWire) {
        await expect(io.timeout(100).fetchSockets()).rejects.toThrow('timeout');
        return;
      }
      const fetched = remote(await io.fetchSockets());
      expect(fetched).toMatchObject({ data: expected, handshake: { session: { user: 7 } } });
      const { sockets, isComplete } = await fetchReachableSockets(io);
      expect(isComplete).toBe(true);
      expect(JSON.parse(JSON.stringify((remote(sockets) as unknown as { data: unknown }).data))).toEqual(expected);
    } finally {
      clearTimeout(timer);
    }
  });

  test('an acknowledgement that is nested too deeply ends no worker', async () => {
    const { client } = pairs()[1]!;
    client.io.once('packet', ({ id }) => client.io.engine.send(`3${id}[${NESTED}]`));
    for (const [index, pair] of pairs().entries()) {
      if (index !== 1) pair.client.on('deep', (reply: (value: number) => void) => reply(index));
    }
    const answers: unknown[] = await members()[0]!.io.timeout(9000).emitWithAck('deep');
    expect(answers.filter((answer) => typeof answer === 'number').sort()).toEqual([0, 2]);
    expect(answers).toHaveLength(3);
    expect(client.connected).toBe(true);
  });

  test('what a server cannot send to others throws at the caller', async () => {
    const [{ io }] = members() as [TestNode];
    expect(() => io.serverSideEmit('news', 1n)).toThrow(TypeError);
    expect(() => io.emit('news', 1n)).toThrow();
    if (isStockWire) return;
    await expect(io.serverSideEmitWithAck('news', 1n)).rejects.toThrow(TypeError);
    await expect(io.timeout(100).emitWithAck('news', 1n)).rejects.toThrow(TypeError);
    members()[1]!.io.on('odd', (reply: (value: unknown) => void) => reply({ big: 1n, small: 1 }));
    members()[2]!.io.on('odd', (reply: (value: unknown) => void) => reply('even'));
    const answers = await io.serverSideEmitWithAck('odd');
    expect(answers).toEqual(expect.arrayContaining([{ small: 1 }, 'even']));
  });

  test('a broadcast fails if a client gives no answer, whether it stays or disconnects', async () => {
    const [first, second, third] = pairs() as [Pair, Pair, Pair];
    second.client.on('ask', (reply: (value: string) => void) => reply('two'));
    const failed = { message: 'operation has timed out', responses: ['two'] };
    const others = () => members()[0]!.io.except(first.socket.id).timeout(2000);
    await expect(others().emitWithAck('ask')).rejects.toMatchObject(failed);
    if (!isStockWire) await until(() => (third.socket as unknown as { acks: Map<number, unknown> }).acks.size === 0);
    for (const { client } of [first, third]) client.on('ask', () => client.disconnect());
    await expect(members()[0]!.io.timeout(2000).emitWithAck('ask')).rejects.toMatchObject(failed);
  });

  if (isStockWire) return;
  test('a broadcast does not wait for a server that has left before it came there', async () => {
    const [staying, leaving] = members()
      .slice(0, 2)
      .map(({ io }) => io.of('/leaving')) as [Namespace, Namespace];
    await until(async () => (await staying.adapter.serverCount()) === 2);
    leaving.adapter.close();
    expect(await staying.timeout(600_000).emitWithAck('ask')).toEqual([]);
  });
}
