import { setTimeout as sleep } from 'node:timers/promises';

const STEP_MS = 20;

/** Resolves with whether something is so, as soon as it is, or after the given time in ms. It looks each `step` ms. */
export async function soon(isTrue, timeout, step = STEP_MS) {
  for (const end = performance.now() + timeout; ; await sleep(step)) {
    if (await isTrue()) return true;
    if (performance.now() > end) return false;
  }
}

/** Resolves as soon as something is so. @throws Error after the given time in ms, with the message `otherwise` */
export async function until(isTrue, otherwise, timeout = 60_000, step = STEP_MS) {
  if (!(await soon(isTrue, timeout, step))) throw new Error(otherwise);
}
