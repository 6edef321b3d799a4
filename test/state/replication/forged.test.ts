import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Hub } from '../../../src/state/replication/hub.js';
import { Reported } from '../../support/reports.js';
import { until } from '../../support/until.js';
import { forgeFor, HubWorkers, memberOf } from '../support/hub-workers.js';

/** Another program on the backplane, which says what no worker says. */

const workers = new HubWorkers();
let reasons: string[];
const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);

beforeEach(() => {
  reasons = Reported.here().reasons;
  process.on('unhandledRejection', note);
});
afterEach(async () => {
  process.off('unhandledRejection', note);
  await workers.remove();
  expect(unhandled.splice(0)).toEqual([]);
});

/** Has all workers receive a message. */
const forge = (message: unknown) => {
  for (const worker of workers.all) forgeFor(worker, message);
};

const progress = (hub: Hub) => ({ node: 'forged', sequence: 1, clock: hub.clock.tick() });

test('messages of another shape are dropped, and the newest set still wins', async () => {
  const [one, two] = [await workers.start(), await workers.start()];
  const fine = { type: 'changes', ...progress(one.hub), room: 'quotes', epoch: 'zzz' };
  const forged = [
    { ...fine, clock: -1, changes: [] },
    { ...fine, changes: [['a', 0.5, 1, '"forged"']] },
    { ...fine, epoch: '', changes: [] },
    { ...fine, epoch: ' !', changes: [] },
    { ...fine, node: 'a b', changes: [] },
    { ...fine, node: 'x'.repeat(1000), changes: [] },
    { ...fine, changes: [['a', 1, 1, '1', 'of nobody']] },
    { type: 'beat', node: 'forged', sequence: -1, clock: 1 },
    { type: 'pull', node: 'forged', id: 1, of: {}, room: 'quotes', since: 0, after: 0 },
    null,
    'changes',
    { type: '__proto__' },
  ];
  for (const message of forged) forge(message);
  expect(reasons.length).toBe(2 * forged.length);
  expect(one.hub.peers.size).toBe(1);
  one.room.set('a', 'one');
  await until(() => two.room.get('a') === 'one');
  two.room.set('a', 'two');
  await until(() => one.room.get('a') === 'two');
  const view = await memberOf(one);
  const again = await memberOf(two, view.version);
  await again.shows(({ a }) => a === 'two');
});
