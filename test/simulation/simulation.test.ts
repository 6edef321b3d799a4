import { expect, test } from '@jest/globals';
import { Random } from '../io/rooms/support/random.js';
import { found } from './found.js';
import { printed, scriptOf } from './script.js';
import { shortest } from './shrink.js';
import { simulate } from './simulation.js';

/**
 * How many turns of processes are simulated. Without STEPS, the scripts are always the same, so that only a change of the code
 * makes the test fail; with STEPS, they begin at a seed by chance. SEED repeats the one with that seed.
 */
const STEPS = Number(process.env.STEPS ?? 150_000);
const FIRST_SEED = process.env.STEPS === undefined ? 1 : Math.floor(Math.random() * 1e9);
const { SEED } = process.env;

test.each(Object.entries(found))('%s', async (_what, script) => {
  const { failure } = await simulate(script);
  expect(failure).toBeUndefined();
});

test(
  'keeps what docs/guarantees.md promises, whatever happens',
  async () => {
    let seed = SEED === undefined ? FIRST_SEED : Number(SEED);
    let steps = 0;
    do {
      const script = scriptOf(seed, new Random(seed));
      const result = await simulate(script);
      steps += result.steps;
      if (result.failure) {
        const { script: shorter, failure } = await shortest(script, result.failure);
        throw new Error(`SEED=${seed}, after ${steps} steps: ${failure.message}\n${printed(shorter)}`, {
          cause: failure,
        });
      }
      seed++;
    } while (SEED === undefined && steps < STEPS);
  },
  Math.max(90_000, STEPS),
);
