import { allTests, canStartProcesses, reaches } from './dependents.mjs';
import { PROGRAMS } from './programs.mjs';

/** The tiers, and what their tests are like. The tier of a test file follows from what it imports. */
export const TIERS = {
  unit: 'start no process',
  process: 'start gjallar or an application',
  long: 'the same, for more than 4 CPU seconds a file',
  system: 'need Redis, NATS, databases, proxies, browsers or namespaces',
};

/** What a file imports that takes more than 4 CPU seconds, with the processes that it starts. */
const LONG = 'test/support/long.ts';

/** The Debian packages that a test file needs. */
export function packagesFor(test) {
  return PROGRAMS.filter(({ usedBy }) => {
    const files = new Set(usedBy.map((file) => `test/${file}`));
    return reaches(test, (file) => files.has(file));
  }).map((program) => program.package);
}

/** The tier of a test file, which is a path under the project. */
export function tierOf(test) {
  if (packagesFor(test).length > 0) return 'system';
  if (reaches(test, (file) => file === LONG)) return 'long';
  return reaches(test, canStartProcesses) ? 'process' : 'unit';
}

/** The test files of each tier. @returns {Record<string, string[]>} */
export function testsByTier() {
  const tiers = Object.fromEntries(Object.keys(TIERS).map((tier) => [tier, []]));
  for (const test of allTests()) tiers[tierOf(test)].push(test);
  return tiers;
}
