import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { fuzz, Guide } from './guided/guide.js';
import { targets } from './guided/targets/index.js';

/**
 * How many changed inputs each target gets. Without TIMES, they are always the same. Under `jest --coverage`, those that reach
 * new branches are changed further; with RECORD, they are added to the corpus.
 */
const { TIMES, RECORD } = process.env;
const times = Number(TIMES ?? 1500);
const seed = TIMES === undefined ? 1 : Math.floor(Math.random() * 1e9);
const MAX_CORPUS_BYTES = 100_000;

/** Of each input a line: the name of its target, and its bytes in base64. */
const file = new URL('./guided/corpus.txt', import.meta.url);
const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
const found: string[] = [];

test.each(Object.entries(targets))(
  '%s reads anything, and nothing wrong',
  async (name, target) => {
    const own = lines.flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));
    const corpus = own.map((input) => Buffer.from(input, 'base64'));
    const all = await fuzz(target, { corpus, seed, times, guide: new Guide() });
    for (const input of all) found.push(`${name} ${input.toString('base64')}\n`);
  },
  Math.max(90_000, 10 * times),
);

test('the corpus is small', () => {
  const text = found.join('');
  if (RECORD) writeFileSync(file, text);
  expect(text.length).toBeLessThan(MAX_CORPUS_BYTES);
});
