import { setTimeout as sleep } from 'node:timers/promises';

const STEP_MS = 20;

/** Asks each `step` ms. Resolves with the answer that is not no, as soon as there is one, or with false after the given time in ms. */
export async function soon(ask, timeout, step = STEP_MS) {
  for (const end = performance.now() + timeout; ; await sleep(step)) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > end) return false;
  }
}

/** The same. @throws Error after the given time in ms, with the message `otherwise` */
export async function until(ask, otherwise, timeout = 60_000, step = STEP_MS) {
  const answer = await soon(ask, timeout, step);
  if (!answer) throw new Error(otherwise);
  return answer;
}
