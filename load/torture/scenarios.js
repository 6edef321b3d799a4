// Every scenario of `npm run torture`. What a scenario needs is loaded when it runs.

import { deaths, deploys, releases, returns } from './application/scenarios.js';
import * as attack from './attack/index.js';

/**
 * The scenarios by name.
 * - `about`: what it does, in one line
 * - `options`: what its options mean to it, with their defaults; `more` is what the usage text says besides. A number needs no
 *   more than that; others say what they `take`, if anything, and perhaps which values alone they may have
 * - `isLong`: it runs only when it is named
 * - `answer`: what is printed instead of a run, if the arguments ask for that
 * - `run`: does it, and ends everything that it has started. Resolves with figures
 * @typedef {{ about: string, takes?: string, of?: string[], multiple?: true }} Option
 * @type {Record<string, { about: string, options?: Record<string, string | Option>, more?: string, isLong?: boolean,
 *   answer?: (own: object) => string | undefined,
 *   run: (options: import('./support/scenario.js').Options) => Promise<import('./support/scenario.js').Figure[]> }>}
 */
export const scenarios = {
  attack: { ...attack, isLong: true },
  deaths,
  deploys,
  faults: {
    about: 'faults under load: lost and repeated messages, and the length of outages',
    options: {
      times: 'how often each fault is injected (100; 1 with --short)',
      minutes: 'time limit (180; 2 with --short)',
    },
    run: async (options) => (await import('./faults/index.js')).run(options),
  },
  releases,
  returns,
};
