let current = 0;
let isPlanned = false;

function end(): void {
  current = (current + 1) & 0x3fffffff;
  isPlanned = false;
}

/** The number of the current tick. It stays the same until the current callback returns to the event loop. */
export function currentTick(): number {
  if (!isPlanned) {
    isPlanned = true;
    process.nextTick(end);
  }
  return current;
}
