import { now } from './clock.js';

// Behind by more than this, the process was stopped or starved; to catch up in one burst would measure the burst.
const MAX_DELAY_MS = 250;

const timers = new Set();

/** Ends everything that is being sent. */
export function stopPacing() {
  for (const timer of timers) clearInterval(timer);
  timers.clear();
}

/**
 * Calls `fire` at a steady rate until `stopPacing`, an open loop: what is late is made up for, whatever the server does.
 * Timers tick once a millisecond, so above 1,000 a second several calls share a tick.
 * @param {number} perSecond
 * @param {() => void} fire
 */
export function pace(perSecond, fire) {
  let start = now();
  let fired = 0;
  const timer = setInterval(() => {
    const elapsed = now() - start;
    const due = Math.floor((elapsed * perSecond) / 1000);
    if (((due - fired) * 1000) / perSecond > MAX_DELAY_MS && due - fired > 1) {
      start += elapsed - (fired * 1000) / perSecond;
      return;
    }
    for (; fired < due; fired++) fire();
  }, 1);
  timers.add(timer);
}
