import { afterEach, expect, test } from '@jest/globals';
import type { Message } from '../../../src/state/replication/messages.js';
import { encodeVersion, newEpoch, parseVersion, UNITS_PER_MS } from '../../../src/state/version.js';
import { until } from '../../support/until.js';
import { type HubWorker, HubWorkers, memberOf } from '../support/hub-workers.js';

const workers = new HubWorkers();

afterEach(() => workers.remove());

/** The types of the messages that a worker sends from now on. */
function sentBy({ node }: HubWorker): string[] {
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
  const [one, two] = [await workers.start(), await workers.start()];
  one.room.set('a', 1);
  await until(() => two.room.get('a') === 1);
  const { version } = await memberOf(one);
  const sent = sentBy(two);
  const view = await memberOf(two, withLatest(version, two.hub.clock.tick() + 3_600_000 * UNITS_PER_MS));
  expect(view.messages[0]![1].snapshot).toBe(true);
  expect(view.state).toEqual({ a: 1 });
  expect(sent).not.toContain('ping');
});

test('a version of a worker whose clock is ahead continues', async () => {
  const [one, two] = [await workers.start(), await workers.start()];
  one.room.set('a', 1);
  await until(() => two.room.get('a') === 1);
  const { version } = await memberOf(one);
  const ahead = two.hub.clock.tick() + 4000 * UNITS_PER_MS;
  one.hub.clock.heard(ahead);
  one.room.set('b', 2);
  const view = await memberOf(two, withLatest(version, ahead));
  await view.shows(({ b }) => b === 2);
  expect(view.messages.some(([, meta]) => meta.snapshot)).toBe(false);
});

test('workers that open the room later take its epoch, in which clients can continue', async () => {
  const first = await workers.start();
  first.room.set('a', 1);
  const { epoch } = parseVersion((await memberOf(first)).version)!;
  for (let more = 0; more < 6; more++) await workers.start();
  first.room.set('b', 2);
  for (const worker of workers.all) {
    await until(() => worker.room.get('b') === 2);
    expect(parseVersion((await memberOf(worker)).version)!.epoch).toBe(epoch);
  }
});

test('of two lives of a room that meet, the older one stays', async () => {
  const { hub } = await workers.start();
  const epoch = () => hub.rooms.get('quotes')!.epoch;
  const own = epoch();
  hub.pulls.adopt('quotes', newEpoch(Date.now() + 1), []);
  expect(epoch()).toBe(own);
  const older = newEpoch(Date.now() - 60_000);
  hub.pulls.adopt('quotes', older, []);
  expect(epoch()).toBe(older);
});
