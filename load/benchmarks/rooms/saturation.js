import { setTimeout as sleep } from 'node:timers/promises';
import { measure } from '../../harness/row/measure.js';
import { resultOf } from '../measured.js';
import { openRoom, roomFigures } from './room.js';

const FIRST = 100;
const STEP = 1.6;
const MAX_RATE = 40_000;
/** How much more than it takes a server is offered. */
const MORE = 1.1;
/** Highest share of what is offered that counts as falling behind. */
const BEHIND = 0.97;

/** One room at the rate that a server just cannot take. */
export async function runSaturated({ peer, fleet, cell, quick }) {
  const room = await openRoom(fleet, { ...cell, perSecond: MAX_RATE });
  return saturate({
    ...{ peer, fleet, quick },
    size: cell.subscribers,
    publish: room.publish,
    received: () => room.listening.count('received'),
    resultOf: (window, perSecond) => resultOf(window, { peer }, roomFigures(window, { ...cell, perSecond })),
  });
}

/**
 * Finds the rate that a server just cannot take, and measures it there: a cost per delivery depends on how far behind a
 * server is, so one that was offered many times what it takes would not be comparable. Rates rise until it falls behind;
 * then its backlog drains, and it is offered a little more than it took.
 * @param {object} row
 * @param {number} row.size deliveries of a message
 * @param {(rate: number) => Promise<unknown>} row.publish
 * @param {() => Promise<number>} row.received deliveries so far
 * @param {(measured: object, perSecond: number) => { saturated: boolean, deliveries: number }} row.resultOf
 * @param {number} [row.first] the first rate
 */
export async function saturate({ peer, fleet, quick, size, publish, received, resultOf, first = FIRST }) {
  const takenOf = async (rate) => {
    await publish(rate);
    const measured = await measure({ peer, fleet, warmUp: 1, window: 1 });
    const deliveries = measured.groups[0].perSecond.received;
    return { deliveries, share: deliveries / (rate * size) };
  };
  let taken = await takenOf(first);
  for (let rate = first; taken.share >= BEHIND && rate < MAX_RATE; ) {
    rate *= STEP;
    taken = await takenOf(rate);
  }
  for (let attempt = 0; attempt < 4; attempt++) {
    await drain(publish, received);
    const perSecond = Math.round((taken.deliveries / size) * MORE);
    await publish(perSecond);
    const result = resultOf(await measure({ peer, fleet, warmUp: 2, window: quick ? 4 : 10 }), perSecond);
    taken = result;
    if (result.saturated) return result;
  }
  return taken;
}

/** Stops publishing and waits until everything has arrived. */
async function drain(publish, received) {
  await publish(0);
  let before = -1;
  let now = 0;
  while (now !== before) {
    before = now;
    await sleep(500);
    now = await received();
  }
}
