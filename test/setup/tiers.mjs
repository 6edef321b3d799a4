import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { allTests, canStartProcesses, reaches } from './dependents.mjs';
import { PROGRAMS } from './programs.mjs';

const cores = availableParallelism();

/**
 * The tiers, in the order in which they run. The tier of a test file follows from what it imports. `workers` are the test
 * files that run at once: more than cores, because files that wait for time-outs leave the cores idle.
 */
export const TIERS = {
  unit: { about: 'starts no process', workers: Math.ceil(1.5 * cores) },
  process: { about: 'starts gjallar or an application', workers: Math.ceil(1.5 * cores) },
  long: { about: 'the same, for more than 4 CPU seconds a file', workers: Math.ceil(1.5 * cores) },
  system: { about: 'needs Redis, NATS, databases, proxies, browsers or namespaces', workers: Math.ceil(1.5 * cores) },
  nightly: { about: 'torture and fuzz', workers: cores },
};

/** What a file imports that takes more than 4 CPU seconds, with the processes that it starts. */
const LONG = 'test/support/long.ts';

/** What runs a scenario of torture. */
const NIGHTLY = 'test/torture/support/run.ts';

/** The Debian packages that a test file needs. */
export function packagesFor(test) {
  return PROGRAMS.filter(({ usedBy }) => {
    const files = new Set(usedBy.map((file) => `test/${file}`));
    return reaches(test, (file) => files.has(file));
  }).map((program) => program.package);
}

/** The tier of a test file, which is a path under the project. */
export function tierOf(test) {
  if (reaches(test, (file) => file === NIGHTLY)) return 'nightly';
  if (packagesFor(test).length > 0) return 'system';
  if (reaches(test, (file) => file === LONG)) return 'long';
  // The tests of load/ start programs that they find by their path.
  return test.startsWith('load/') || reaches(test, canStartProcesses) ? 'process' : 'unit';
}

/** The test files of each tier. @returns {Record<string, string[]>} */
export function testsByTier() {
  const tiers = Object.fromEntries(Object.keys(TIERS).map((tier) => [tier, []]));
  for (const test of allTests()) tiers[tierOf(test)].push(test);
  return tiers;
}

/** The tests that files declare, at least: one that runs for each row of a table counts once. */
export function declaredIn(tests) {
  const text = (test) => readFileSync(fileURLToPath(new URL(`../../${test}`, import.meta.url)), 'utf8');
  return tests.reduce((sum, test) => sum + (text(test).match(/^\s*(?:test|it)(?:\.\w+)*\(/gm) ?? []).length, 0);
}
