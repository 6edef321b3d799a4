import { setImmediate as turnOfLoop } from 'node:timers/promises';

const SHORT_TURN_MS = 0.2;
/** How long an idle turn is waited for, in ms. */
const MAX_WAIT_MS = 1000;

/**
 * Closes listen sockets. The kernel may reset connections that wait to be accepted (see `movesConnections`). They
 * are therefore closed right after an idle turn of the event loop, which has accepted all waiting connections.
 */
export async function stopListening(close: () => void): Promise<void> {
  const start = performance.now();
  for (let before = start, now = start; now - start < MAX_WAIT_MS; before = now) {
    await turnOfLoop();
    now = performance.now();
    if (now - before < SHORT_TURN_MS) break;
  }
  close();
}
