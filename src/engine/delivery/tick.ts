let current = 0;
let isPlanned = false;

function end(): void {
  current = (current + 1) & 0x3fffffff;
  isPlanned = false;
}

/** The number of the tick that runs: the same as long as no callback has returned to the event loop. */
export function currentTick(): number {
  if (!isPlanned) {
    isPlanned = true;
    process.nextTick(end);
  }
  return current;
}
