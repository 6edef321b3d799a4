import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { UNITS_PER_MS } from '../../../src/state/clock.js';
import { type StateRoom, stateRoom } from '../../../src/state/index.js';
import type { Hub } from '../../../src/state/replication/hub.js';
import type { Message } from '../../../src/state/replication/messages.js';
import { encodeVersion, newEpoch, parseVersion } from '../../../src/state/version.js';
import { disconnectAll, pairOn } from '../../rooms/support/clients.js';
import { Machine, startMember, type TestNode } from '../../rooms/support/node.js';
import { until } from '../../support/until.js';
import { View } from '../support/view.js';

interface Worker {
  node: TestNode;
  room: StateRoom;
  hub: Hub;
}

let machine: Machine;
const workers: Worker[] = [];

beforeEach(async () => {
  machine = await Machine.start();
});
afterEach(async () => {
  disconnectAll();
  for (const { node, room } of workers.splice(0)) {
    room.close();
    await node.close();
  }
  await machine.remove();
});

async function start(): Promise<Worker> {
  const node = await startMember(await machine.openBackplane());
  const room = stateRoom(node.io, 'quotes', { event: 'quote' });
  const worker = { node, room, hub: (room as unknown as { hub: Hub }).hub };
  workers.push(worker);
  await room.ready();
  return worker;
}

async function member({ node, room }: Worker, version?: string): Promise<View> {
  const pair = await pairOn(node);
  const view = new View(pair.client, 'quote');
  room.join(pair.socket, { version });
  await view.shows(() => true);
  return view;
}

/** The types of the messages that a worker sends from now on. */
function sentBy({ node }: Worker): string[] {
  const types: string[] = [];
  const nsp = node.io.of('/');
  const emit = nsp.serverSideEmit.bind(nsp);
  nsp.serverSideEmit = (event: string, message: Message) => {
    types.push(message.type);
    return emit(event, message);
  };
  return types;
}

/** A version that says that its client has seen changes of a time that far from now. */
const withLatest = (version: string, latest: number) => encodeVersion({ ...parseVersion(version)!, latest });

test('a version of a time that no worker can have gets a snapshot, and has no worker asked', async () => {
  const [one, two] = [await start(), await start()];
  one.room.set('a', 1);
  await until(() => two.room.get('a') === 1);
  const { version } = await member(one);
  const sent = sentBy(two);
  const view = await member(two, withLatest(version, two.hub.clock.tick() + 3_600_000 * UNITS_PER_MS));
  expect(view.messages[0]![1].snapshot).toBe(true);
  expect(view.state).toEqual({ a: 1 });
  expect(sent).not.toContain('ping');
});

test('a version of a worker whose clock is ahead continues', async () => {
  const [one, two] = [await start(), await start()];
  one.room.set('a', 1);
  await until(() => two.room.get('a') === 1);
  const { version } = await member(one);
  const ahead = two.hub.clock.tick() + 4000 * UNITS_PER_MS;
  one.hub.clock.heard(ahead);
  one.room.set('b', 2);
  const view = await member(two, withLatest(version, ahead));
  await view.shows(({ b }) => b === 2);
  expect(view.messages.some(([, meta]) => meta.snapshot)).toBe(false);
});

test('a client continues after other workers have opened the room', async () => {
  const first = await start();
  first.room.set('a', 1);
  const { version } = await member(first);
  for (let more = 0; more < 6; more++) await start();
  first.room.set('b', 2);
  for (const worker of workers) {
    await until(() => worker.room.get('b') === 2);
    const view = await member(worker, version);
    await view.shows(({ b }) => b === 2);
    expect(view.messages.some(([, meta]) => meta.snapshot)).toBe(false);
  }
}, 30_000);

test('of two lives of a room that meet, the older one stays', async () => {
  const { hub } = await start();
  const epoch = () => hub.rooms.get('quotes')!.epoch;
  const own = epoch();
  hub.pulls.adopt('quotes', newEpoch(Date.now() + 1), []);
  expect(epoch()).toBe(own);
  const older = newEpoch(Date.now() - 60_000);
  hub.pulls.adopt('quotes', older, []);
  expect(epoch()).toBe(older);
});
