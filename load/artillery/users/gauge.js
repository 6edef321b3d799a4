import { performance } from 'node:perf_hooks';

// How often the thread that plays the users is looked at, in ms.
const INTERVAL = 250;

const rows = new Map();
let timer;
let seen;

/**
 * Puts a time into a row of the summary.
 * @param {{ emit(...args: unknown[]): unknown }} events artillery's, which collects metrics
 * @param {string} row
 * @param {number} ms
 */
export function record(events, row, ms) {
  const now = performance.now();
  const known = rows.get(row);
  if (known) known.last = now;
  else rows.set(row, { told: now - ms, last: now });
  events.emit('histogram', row, ms);
}

/** From the first user on: how busy this thread is, in percent, and how long each row took from beginning to end. */
export function start(events) {
  if (timer) return;
  seen = performance.eventLoopUtilization();
  timer = setInterval(() => look(events), INTERVAL);
}

/** With the last user. */
export function stop(events) {
  clearInterval(timer);
  timer = undefined;
  look(events);
}

function look(events) {
  const now = performance.eventLoopUtilization();
  events.emit('histogram', 'artillery.busy', performance.eventLoopUtilization(now, seen).utilization * 100);
  seen = now;
  // Artillery's own rates are averages of whole seconds over whole periods of ten, whatever happened in them.
  for (const [row, times] of rows) {
    events.emit('counter', `duration.${row}`, times.last - times.told);
    times.told = times.last;
  }
}
