import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * An open loop: calls `send` with 0, 1, 2, … at even intervals, whether or not earlier calls have got their answers; what
 * is late is made up for. Resolves when all answers are there, fails when one does.
 * @param {{ perSecond: number, count: number }} options
 * @param {(index: number) => Promise<unknown>} send
 */
export async function pace({ perSecond, count }, send) {
  const interval = 1000 / perSecond;
  const start = performance.now();
  const answers = [];
  for (let i = 0; i < count; i++) {
    const wait = start + i * interval - performance.now();
    if (wait > 0) await sleep(wait);
    const answer = send(i);
    // Fails below, with all others.
    answer.catch(() => {});
    answers.push(answer);
  }
  await Promise.all(answers);
}
