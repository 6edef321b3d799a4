import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { testsByTier } from './tiers.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));

const OWN = 'test/setup/timers.test.ts';
/** Helpers that wait, and that move or imitate the time. */
const CLOCKS = [
  ...['test/support/until.js', 'test/support/clock.ts', 'test/engine/support/clock.ts'],
  // There, timers are those of its scheduler.
  ...['scheduler', 'client-socket', 'durable', 'store'].map((file) => `test/simulation/${file}.ts`),
];

/** Timers that do something, and clocks that measure. The time of day is data of many tests; a difference of it measures. */
const FORBIDDEN = [
  /(?<![.\w])set(?:Timeout|Interval)\((?!\(\) => \{\}[,)])/,
  /\bset(?:Timeout|Interval)(?: as \w+)? \} from 'node:timers\/promises'/,
  /\bperformance\.now\(\)|\bhrtime\b/,
  /\bDate\.now\(\) - [a-z]\w*(?![\w.(])|[<>]=? *Date\.now\(\)(?! - )|Date\.now\(\) *[<>]/,
];

/** The code of a file as a list of lines, without comments and without the programs of other processes. */
function codeOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8').replace(/\/\*\*?.*?\*\//gs, '');
  return text
    .replace(/`[^`]*`/g, '``')
    .split('\n')
    .map((line) => line.replace(/(^|\s)\/\/.*/, ''));
}

/** What tests of all tiers import. */
const helpers = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /(?<!\.test)\.[jt]s$/.test(file))
  .map((file) => `test/${file}`)
  .filter((file) => !CLOCKS.includes(file));

/** A file that sets jest's timers needs no others to wait. */
const hasOwnClock = (file: string) => /\buseFakeTimers\(/.test(readFileSync(join(root, file), 'utf8'));

test('helpers, and tests that need no other program, wait for events, with timers and clocks only from support/', () => {
  const { unit, process: processes } = testsByTier();
  const tests = [...unit!, ...processes!].filter(
    (file) => file.startsWith('test/') && file !== OWN && !hasOwnClock(file),
  );
  expect(tests.length).toBeGreaterThan(150);
  expect(helpers.length).toBeGreaterThan(50);
  const found = [...tests, ...helpers].flatMap((file) =>
    codeOf(file)
      .filter((line) => FORBIDDEN.some((pattern) => pattern.test(line)))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});
