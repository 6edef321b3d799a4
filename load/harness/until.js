import { setTimeout as sleep } from 'node:timers/promises';

const STEP_MS = 20;

/** Resolves with whether something is so, as soon as it is, or after the given time in ms. */
export async function soon(isTrue, timeout) {
  for (const end = performance.now() + timeout; ; await sleep(STEP_MS)) {
    if (await isTrue()) return true;
    if (performance.now() > end) return false;
  }
}

/** Resolves as soon as something is so. @throws Error after the given time in ms, with the message `otherwise` */
export async function until(isTrue, otherwise, timeout = 60_000) {
  if (!(await soon(isTrue, timeout))) throw new Error(otherwise);
}
