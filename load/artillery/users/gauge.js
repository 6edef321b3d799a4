import { performance } from 'node:perf_hooks';

// How often the thread that plays the users is looked at, in ms.
const INTERVAL = 250;

/** When the first time of each row of the summary began, and when the last one ended. */
const rows = new Map();
let timer;
let seen;

/**
 * Puts a time into a row of the summary.
 * @param {{ emit(...args: unknown[]): unknown }} events artillery's, which collects metrics
 */
export function record(events, row, ms) {
  const now = performance.now();
  if (!rows.has(row)) rows.set(row, { from: now - ms });
  rows.get(row).to = now;
  events.emit('histogram', row, ms);
}

/** From the first user on: how busy this thread is, in percent. */
export function start(events) {
  if (timer) return;
  seen = performance.eventLoopUtilization();
  timer = setInterval(() => look(events), INTERVAL);
}

/** With the last user: how long each row took. Artillery's own rates are averages of whole seconds over periods of ten. */
export function stop(events) {
  clearInterval(timer);
  timer = undefined;
  look(events);
  for (const [row, { from, to }] of rows) events.emit('counter', `duration.${row}`, to - from);
  rows.clear();
}

function look(events) {
  const now = performance.eventLoopUtilization();
  events.emit('histogram', 'artillery.busy', performance.eventLoopUtilization(now, seen).utilization * 100);
  seen = now;
}
