import { aligned } from '../../harness/command.js';

/**
 * @typedef {object} Options
 * @property {boolean} short the form that `npm run test:night` runs: seconds
 * @property {number} seed what chance goes by: the same seed gives the same order
 * @property {number} [times] how often each thing is done; the scenario has a default
 * @property {number} [minutes] how long it takes; the scenario has a default
 *
 * @typedef {object} Figure
 * @property {string} name
 * @property {number | string} value
 * @property {string} [unit]
 * @property {number} [times] how often it was put to the test
 * @property {number} [most] what the value must not be above
 * @property {number} [least] what the value must not be below
 */

/** Whether a figure is as it must be. @param {Figure} figure */
export function isMet({ value, most = Number.POSITIVE_INFINITY, least = Number.NEGATIVE_INFINITY }) {
  return typeof value === 'string' || (value <= most && value >= least);
}

/** Prints what a person reads. @param {Figure[]} figures */
export function printFigures(figures) {
  const shown = (value) => (typeof value === 'number' ? value.toLocaleString('en-US') : value);
  const rows = figures.map((figure) => {
    const { name, value, unit = '', times, most, least } = figure;
    const goals = [
      times !== undefined && `${times} times`,
      least !== undefined && `at least ${shown(least)}`,
      most !== undefined && `at most ${shown(most)}`,
    ];
    return [name, `${shown(value)} ${unit}`.trim(), goals.filter(Boolean).join(', '), isMet(figure) ? '' : 'FAILED'];
  });
  for (const line of aligned(rows, (column) => column !== 1)) console.log(`  ${line}`);
}

/** How often each text occurs, as a text. @param {string[]} texts */
export function counted(texts) {
  const counts = new Map();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].map(([text, count]) => `${count} × ${text}`).join(', ') || 'none';
}

/** Numbers from 0 to 1 that look like chance and follow from the seed (mulberry32). @param {number} seed */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One of a list. */
export const pick = (list, random) => list[Math.floor(random() * list.length)];

/** Figures of one part of a scenario. @param {Figure[]} figures */
export const named = (part, figures) => figures.map((figure) => ({ ...figure, name: `${part}: ${figure.name}` }));

/** The same things in an order that follows from `random`. @template T @param {T[]} things @returns {T[]} */
export function shuffled(things, random) {
  const left = [...things];
  return things.map(() => left.splice(Math.floor(random() * left.length), 1)[0]);
}

/** Says what is being done, in one line that the next one takes the place of. */
export function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K  ${text}`);
  else if (process.env.TORTURE_PROGRESS && text) process.stderr.write(`  ${text}\n`);
}

/**
 * Does something, and then ends what it uses, the last thing first, even where it has failed.
 * @template T
 * @param {(use: Use) => Promise<T>} act
 *
 * @typedef {<Thing>(thing: Thing, end?: string) => Thing} Use returns the thing. `end` is the method that ends it, by default
 *   `stop`; a function is called
 */
export async function cleaningUp(act) {
  const used = [];
  try {
    return await act((thing, end = 'stop') => {
      used.push(typeof thing === 'function' ? thing : () => thing[end]());
      return thing;
    });
  } finally {
    progress('');
    for (const end of used.reverse()) await end();
  }
}
