import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { stateRooms } from '../../../src/rooms/state-figures.js';
import { type StateRoom, stateRoom } from '../../../src/state/index.js';
import type { Message } from '../../../src/state/replication/messages.js';
import { Machine, startMember, type TestNode } from '../../rooms/support/node.js';

let machine: Machine;
const nodes: TestNode[] = [];
const rooms: StateRoom[] = [];
const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);
const { onMalformed } = stateRooms;
let reasons: string[];

beforeEach(async () => {
  machine = await Machine.start();
  process.on('unhandledRejection', note);
  reasons = [];
  stateRooms.onMalformed = (reason) => reasons.push(reason);
});
afterEach(async () => {
  process.off('unhandledRejection', note);
  stateRooms.onMalformed = onMalformed;
  unhandled.length = 0;
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

/** Has a worker send something else instead of its next page. */
function spoilNextPage({ io }: TestNode, fields: object): void {
  const nsp = io.of('/');
  const emit = nsp.serverSideEmit.bind(nsp);
  nsp.serverSideEmit = (event: string, message: Message) => {
    if (message.type !== 'page') return emit(event, message);
    nsp.serverSideEmit = emit;
    return emit(event, { ...message, ...fields });
  };
}

test.each([
  ['changes that are none', { changes: [1] }],
  ['a change without a time', { changes: [['a', 'now', 1, '1']] }],
  ['a next page that is no number', { next: 'more' }],
])(
  'a page with %s is dropped, and asked for again',
  async (_name, fields) => {
    const [one, two] = [await start(), await start()];
    const first = open(one);
    await first.ready();
    first.set('a', 1);
    spoilNextPage(one, fields);
    const second = open(two);
    await second.ready();
    expect(Object.fromEntries(second.entries())).toEqual({ a: 1 });
    expect(reasons.length).toBe(1);
    expect(unhandled).toEqual([]);
  },
  20_000,
);
