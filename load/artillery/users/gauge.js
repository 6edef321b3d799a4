import { performance } from 'node:perf_hooks';

// How often the thread that plays the users is looked at, in ms.
const INTERVAL = 250;

let timer;
let look;

/** Tells artillery from the first user on how busy this thread is, in percent. */
export function start(events) {
  let seen = performance.eventLoopUtilization();
  look = () => {
    const now = performance.eventLoopUtilization();
    events.emit('histogram', 'artillery.busy', performance.eventLoopUtilization(now, seen).utilization * 100);
    seen = now;
  };
  timer = setInterval(look, INTERVAL);
}

/** With the last user. */
export function stop() {
  clearInterval(timer);
  look();
}
