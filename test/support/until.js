import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than any test may rightly wait for one thing. Without an end, jest would never end after a test's time-out. */
const MAX_WAIT_MS = 60_000;

/** How long expectations may take to hold. Before a test's time-out, so that the one that fails is reported. */
const MAX_EVENTUALLY_MS = 20_000;

/**
 * Checks again and again until all expectations hold at once. For what other processes report a little later, each figure
 * on its own.
 * @param {() => void | Promise<void>} check
 */
export async function eventually(check) {
  const end = Date.now() + MAX_EVENTUALLY_MS;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await sleep(20);
  }
}

/**
 * Asks something that sends no event, again and again, until the answer is yes. Pass `withinMs` only where the documentation
 * promises that it takes no longer.
 * @param {() => boolean | Promise<boolean>} ask
 */
export async function until(ask, withinMs = MAX_WAIT_MS) {
  const end = Date.now() + withinMs;
  while (!(await ask())) {
    if (Date.now() > end) throw new Error(`Not within ${withinMs / 1000} s: ${ask}`);
    await sleep(20);
  }
}

/**
 * Lets time pass, for a time-out of the server that takes no clock. Never wait so for something that happens: use `until`,
 * or an event.
 * @type {(ms: number) => Promise<void>}
 */
export const pass = (ms) => sleep(ms);

/** Rejects when something has taken longer than it may on the busiest machine. For a race with its event. @param {string} what @returns {Promise<never>} */
export async function late(what) {
  await sleep(MAX_EVENTUALLY_MS, undefined, { ref: false });
  throw new Error(`Not within ${MAX_EVENTUALLY_MS / 1000} s: ${what}`);
}

/** Keeps this thread busy, as a long computation does. @param {number} ms */
export function busyFor(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/**
 * Acts every so many ms until a promise has settled, as a slow client does. Settles as the promise does.
 * @template T
 * @param {number} everyMs @param {() => void} act @param {Promise<T>} promise @returns {Promise<T>}
 */
export async function whileActing(everyMs, act, promise) {
  const timer = setInterval(act, everyMs);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
  }
}

/** How many ms have passed since this call. Expect at least so many, or at most far more than a busy machine takes. */
export function stopwatch() {
  const start = performance.now();
  return () => performance.now() - start;
}
