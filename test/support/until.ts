import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than any test may rightly wait for one thing. Without an end, jest would never end after a test's time-out. */
const MAX_WAIT_MS = 60_000;

/** Asks something that sends no event, again and again, until the answer is yes. */
export async function until(ask: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + MAX_WAIT_MS;
  while (!(await ask())) {
    if (Date.now() > end) throw new Error(`Not within ${MAX_WAIT_MS / 1000} s: ${ask}`);
    await sleep(20);
  }
}
