import { setTimeout as sleep } from 'node:timers/promises';
import { measure } from '../harness/row/measure.js';
import { resultOf } from './measured.js';

const FIRST = 100;
const STEP = 1.6;
const MAX_RATE = 40_000;
/** How much more than it takes a server is offered. */
const MORE = 1.1;
/** Highest share of what is offered that counts as falling behind. */
const BEHIND = 0.97;

/**
 * Finds the rate that a server just cannot take, and measures it there: a cost per delivery depends on how far behind a
 * server is, so one that was offered many times what it takes would not be comparable. Rates rise until it falls behind;
 * then its backlog drains, and it is offered a little more than it took.
 * @param {import('./measured.js').Row} row
 * @param {object} play
 * @param {number} play.size deliveries of a message
 * @param {object} play.clients the group that receives
 * @param {(rate: number) => Promise<unknown>} play.publish
 * @param {(window: object, rate: number) => import('./measured.js').Figures} play.figures
 */
export async function saturate(row, { size, clients, publish, figures }) {
  const { peer, fleet, quick } = row;
  const takenOf = async (rate) => {
    await publish(rate);
    const { groups } = await measure({ peer, fleet, warmUp: 1, window: 1 });
    const deliveries = groups[0].perSecond.received;
    return { deliveries, share: deliveries / (rate * size) };
  };
  let taken = await takenOf(FIRST);
  for (let rate = FIRST; taken.share >= BEHIND && rate < MAX_RATE; ) {
    rate *= STEP;
    taken = await takenOf(rate);
  }
  for (let attempt = 0; attempt < 4 && !taken.saturated; attempt++) {
    await drain(publish, clients);
    const perSecond = Math.round((taken.deliveries / size) * MORE);
    await publish(perSecond);
    const window = await measure({ peer, fleet, warmUp: 2, window: quick ? 4 : 10 });
    taken = resultOf(window, row, figures(window, perSecond));
  }
  return taken;
}

/** Stops publishing and waits until everything has arrived. */
async function drain(publish, clients) {
  await publish(0);
  let before = -1;
  let now = 0;
  while (now !== before) {
    before = now;
    await sleep(500);
    now = await clients.count('received');
  }
}
