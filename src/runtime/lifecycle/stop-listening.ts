import { setImmediate as turnOfLoop } from 'node:timers/promises';

const SHORT_TURN_MS = 0.2;
const MAX_TURNS = 1000;

/**
 * Closes listen sockets. The kernel may reset connections that wait to be accepted (see `movesConnections`). They
 * are therefore closed right after an idle turn of the event loop, which has accepted all waiting connections.
 */
export async function stopListening(close: () => void): Promise<void> {
  let before = performance.now();
  for (let turns = 0; turns < MAX_TURNS; turns++) {
    await turnOfLoop();
    const now = performance.now();
    if (now - before < SHORT_TURN_MS) break;
    before = now;
  }
  close();
}
