import { setTimeout as sleep } from 'node:timers/promises';
import { measure } from '../harness/measure.js';
import { openRoom, roomResult } from './room.js';

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
 */
export async function runSaturated({ peer, fleet, cell, quick }) {
  const room = await openRoom(fleet, { ...cell, perSecond: MAX_RATE });
  let taken = await takenOf(peer, fleet, room, FIRST);
  for (let rate = FIRST; taken.share >= BEHIND && rate < MAX_RATE; ) {
    rate *= STEP;
    taken = await takenOf(peer, fleet, room, rate);
  }
  for (let attempt = 0; attempt < 4; attempt++) {
    await drain(room);
    const perSecond = Math.round((taken.deliveries / cell.subscribers) * MORE);
    await room.publish(perSecond);
    const measured = await measure({ peer, fleet, warmUp: 2, window: quick ? 4 : 10 });
    const result = roomResult(measured, { ...cell, perSecond }, peer);
    taken = result;
    if (result.saturated) return result;
  }
  return taken;
}

/** What a server takes of a rate. */
async function takenOf(peer, fleet, room, rate) {
  await room.publish(rate);
  const measured = await measure({ peer, fleet, warmUp: 1, window: 1 });
  const [{ perSecond }] = measured.groups;
  return { deliveries: perSecond.received, share: perSecond.received / (rate * room.listening.size) };
}

/** Stops publishing and waits until everything has arrived. */
async function drain({ publish, listening }) {
  await publish(0);
  let before = -1;
  let received = 0;
  while (received !== before) {
    before = received;
    await sleep(500);
    received = await listening.count('received');
  }
}
