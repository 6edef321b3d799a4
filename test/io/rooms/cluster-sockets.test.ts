import { afterEach, expect, test } from '@jest/globals';
import { countSockets, fetchReachableSockets } from '../../../src/io/rooms/cluster-sockets.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { nextEvent } from '../../support/clients.js';
import { movableClock } from '../../support/clock.js';
import { atEnd } from '../../support/ends.js';
import { until } from '../../support/until.js';
import { disconnectAll, pairOn } from './support/clients.js';
import { Machine, startMember, startNode } from './support/node.js';

const clock = movableClock();
afterEach(() => disconnectAll());

test('a worker that does not answer is left out', async () => {
  const machine = await Machine.start();
  const members: Awaited<ReturnType<typeof startMember>>[] = [];
  for (let count = 0; count < 3; count++) members.push(await startMember(await machine.openBackplane()));
  atEnd(async () => {
    disconnectAll();
    for (const member of members) await member.close();
    await machine.remove();
  });
  for (const { io } of members) await until(async () => (await io.of('/').adapter.serverCount()) === 3);
  const pairs = await Promise.all(members.map((member) => pairOn(member)));
  await Promise.all(pairs.map(({ socket }) => socket.join('room')));
  const [{ io }, , silent] = members as [(typeof members)[0], unknown, (typeof members)[0]];
  // As a server of an earlier version.
  silent.io.of('/').removeAllListeners('gjallar:sockets' as never);
  const [count, { sockets, isComplete }] = await clock.settled(
    Promise.all([countSockets(io, 'room'), fetchReachableSockets(io, 'room')]),
  );
  expect(count).toEqual({ sockets: 2, isComplete: false });
  expect(isComplete).toBe(false);
  expect(sockets.map(({ id }) => id)).toEqual(pairs.slice(0, 2).map(({ socket }) => socket.id));
});

test('a server alone counts its own sockets, also of a namespace with an adapter set later', async () => {
  const node = await startNode(alone);
  atEnd(disconnectAll, () => node.close());
  node.io.of('/other');
  node.io.adapter(alone as never);
  const { socket } = await pairOn(node, { namespace: '/other' });
  await socket.join(['a', 'b']);
  expect(await countSockets(node.io)).toEqual({ sockets: 0, isComplete: true });
  expect(await countSockets(node.io.of('/other'), ['a', 'b'])).toEqual({ sockets: 1, isComplete: true });
  expect(await fetchReachableSockets(node.io.of('/other'))).toEqual({ sockets: [socket], isComplete: true });
});

test('a server alone gets no answers of other servers, and a client that is gone is one that does not answer', async () => {
  const node = await startNode(alone);
  atEnd(disconnectAll, () => node.close());
  expect(await node.io.serverSideEmitWithAck('sum', 1)).toEqual([]);
  const [staying, leaving] = await Promise.all([pairOn(node), pairOn(node)]);
  staying!.client.on('ask', (reply: (value: string) => void) => reply('here'));
  const asked = nextEvent(leaving!.client, 'ask');
  const answers = node.io
    .timeout(1000)
    .emitWithAck('ask')
    .catch((error) => error);
  await asked;
  leaving!.client.disconnect();
  expect(await answers).toMatchObject({ message: 'operation has timed out', responses: ['here'] });
  expect(await node.io.timeout(600_000).to('nobody').emitWithAck('ask')).toEqual([]);
  // The last one in time, and nothing is waited for behind it.
  await expect(node.io.timeout(1).emitWithAck('unknown')).rejects.toMatchObject({ responses: [] });
  expect((staying!.socket as unknown as { acks: Map<number, unknown> }).acks.size).toBe(0);
});
