import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type StateRoom, stateRoom } from '../../../src/state/index.js';
import type { Hub } from '../../../src/state/replication/hub.js';
import type { Message } from '../../../src/state/replication/messages.js';
import { NO_EPOCH } from '../../../src/state/version.js';
import { Machine, startMember, type TestNode } from '../../rooms/support/node.js';
import { nextEvent } from '../../support/clients.js';

let machine: Machine;
const nodes: TestNode[] = [];
const rooms: StateRoom[] = [];

beforeEach(async () => {
  machine = await Machine.start();
});
afterEach(async () => {
  for (const room of rooms.splice(0)) room.close();
  for (const node of nodes.splice(0)) await node.close();
  await machine.remove();
});

async function start(): Promise<TestNode> {
  const node = await startMember(await machine.openBackplane());
  nodes.push(node);
  return node;
}

function open(node: TestNode): StateRoom {
  const room = stateRoom(node.io, 'quotes');
  rooms.push(room);
  return room;
}

/** Has a worker answer as if it had closed its room after the first page. Resolves once it has. */
function closeAfterFirstPage({ io }: TestNode): Promise<void> {
  const nsp = io.of('/');
  const emit = nsp.serverSideEmit.bind(nsp);
  return new Promise((resolve) => {
    let pages = 0;
    nsp.serverSideEmit = (event: string, message: Message) => {
      if (message.type !== 'page' || ++pages === 1) return emit(event, message);
      nsp.serverSideEmit = emit;
      resolve();
      return emit(event, { ...message, epoch: NO_EPOCH, forgotten: 0, changes: [], next: undefined });
    };
  });
}

test('a room whose donor closes it between two pages is asked for again', async () => {
  const [one, two] = [await start(), await start()];
  const first = open(one);
  await first.ready();
  const value = 'x'.repeat(10_000);
  for (let key = 0; key < 60; key++) first.set(`${key}`, value);
  // What has been sent by now reaches a worker that has no room yet.
  (first as unknown as { hub: Hub }).hub.flush();
  const fence = nextEvent(two.io, 'fence');
  one.io.serverSideEmit('fence');
  await fence;
  const closed = closeAfterFirstPage(one);
  const second = open(two);
  await second.ready();
  await closed;
  expect(second.size).toBe(60);
});
