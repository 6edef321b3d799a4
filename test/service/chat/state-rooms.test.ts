import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { StateService } from '../../../src/service/chat/state/service.js';
import { admitWatcher, watch } from '../../../src/service/chat/state/watch.js';
import { onHubOf } from '../../features/state/support/room-on.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { Machine, startMember, type TestNode } from '../../io/rooms/support/node.js';

let machine: Machine;
let node: TestNode;

beforeEach(async () => {
  machine = await Machine.start();
  await machine.startHub('machine0');
  node = await startMember(await machine.openBackplane());
});
afterEach(async () => {
  disconnectAll();
  await node.close();
  await machine.remove();
});

test('a room with too many members that are behind lets nobody else in, over Socket.IO or plain WebSockets', async () => {
  const states = onHubOf(node, () => new StateService(node.io as never, { stateRooms: ['a'] }, node.engine));
  const room = states.find('a', 'join', undefined);
  await room.ready();
  const { socket } = await pairOn(node);
  const context = { states } as never;
  const enter = async (bufferedAmount: number) => {
    const member = admitWatcher(context, 'a', { name: 'Ada', grant: {} }, {});
    await member.enter({ topicSocket: undefined, bufferedAmount, send: () => {}, refuse: () => {} });
    return member;
  };
  // They read nothing, and so stay behind.
  for (let count = 1; count < 100_000; count++) await enter(1e9);
  const stuck = await enter(1e9);
  await expect(enter(0)).rejects.toMatchObject({ code: 'STATE_BUSY' });
  const watching = () => watch(context, Object.assign(socket, { data: { grant: {} } }) as never, { room: 'a' });
  await expect(watching()).rejects.toMatchObject({ code: 'STATE_BUSY' });
  expect(room.stats().members).toBe(100_000);
  stuck.leave();
  expect(await watching()).toEqual({ room: 'a', event: 'state:a', keys: 0 });
  expect(room.stats().members).toBe(100_000);
});
