// Runs the tests, one tier after the other:
//
//   npm test                        unit and process, which need Node and npm only
//   npm run test:all [-- --install] these, long, system, and the documentation
//   npm test -- test/service/chat           what is in a folder, whatever its tiers
//
// Of each tier, jest runs as many files at once as test/setup/tiers.mjs says. Other arguments are for jest.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jestArguments, matching, parseArguments } from './arguments.mjs';
import { describeFailure, failuresOf } from './failures.mjs';
import { prepare } from './prepare.mjs';
import { declaredIn, packagesFor, TIERS, testsByTier } from './tiers.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const here = parseArguments(process.argv.slice(2));
const byTier = testsByTier();

const chosen = choose();
if (!prepare(Object.values(chosen).flat(), here.install)) process.exit(1);

const folder = mkdtempSync(join(tmpdir(), 'gjallar-results-'));
/** Each start of a Redis by a test adds a byte: see test/support/redis.js. */
const redisStarts = join(folder, 'redis-starts');
writeFileSync(redisStarts, '');
const started = Date.now();
const results = Object.keys(chosen).map(runTier);
const redisCount = statSync(redisStarts).size;
rmSync(folder, { recursive: true });
if (here.outputFile) writeFileSync(here.outputFile, JSON.stringify(merged(results)));
const isGreen = results.every(({ success }) => success) && documentation();
report();
process.exit(isGreen ? 0 : 1);

/** The tiers to run, each with its test files. */
function choose() {
  const { paths, tiers, all } = here;
  const standard = all ? ['unit', 'process', 'long', 'system'] : ['unit', 'process'];
  const names = tiers.length > 0 ? tiers : paths.length > 0 ? Object.keys(TIERS) : standard;
  const unknown = names.filter((name) => !(name in TIERS));
  if (unknown.length > 0) fail(`There is no tier "${unknown[0]}". The tiers are ${Object.keys(TIERS).join(', ')}.`);
  const entries = names.map((name) => [name, paths.length > 0 ? matching(byTier[name], paths) : byTier[name]]);
  const found = entries.filter(([, tests]) => tests.length > 0);
  if (found.length === 0) fail(`No test file fits ${paths.join(' ')}.`);
  if (paths.length > 0) for (const [name, tests] of found) console.log(describe(name, tests));
  return Object.fromEntries(found);
}

function runTier(tier) {
  const output = join(folder, `${tier}.json`);
  console.log(`\n== ${tier}: ${TIERS[tier].about}`);
  const node = ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
  const args = jestArguments(here, { tier, tests: chosen[tier], output, workers: TIERS[tier].workers });
  const env = { ...process.env, GJALLAR_REDIS_STARTS: redisStarts };
  const { status } = spawnSync(process.execPath, [...node, ...args], { cwd: root, stdio: 'inherit', env });
  const result = existsSync(output) ? JSON.parse(readFileSync(output, 'utf8')) : { testResults: [], success: false };
  // What stays open keeps jest from ending as it should, although all tests have passed.
  return { ...result, tier, success: status === 0 && result.success };
}

/** One result, as jest writes it. */
function merged(all) {
  const sum = (field) => all.reduce((total, result) => total + (result[field] ?? 0), 0);
  const fields = ['numPassedTests', 'numFailedTests', 'numPendingTests', 'numTotalTests', 'numRuntimeErrorTestSuites'];
  return {
    ...Object.fromEntries(fields.map((field) => [field, sum(field)])),
    success: all.every(({ success }) => success),
    // What stays open, or goes on after the tests, makes jest fail although they have passed.
    broken: all.filter((each) => !each.success && failuresOf(each).length === 0).map(({ tier }) => tier),
    testResults: all.flatMap(({ testResults }) => testResults),
  };
}

/** With --all, builds the site of the documentation, which fails on dead links. */
function documentation() {
  if (!here.all || here.paths.length > 0) return true;
  console.log('\n== documentation');
  return spawnSync(process.execPath, ['docs/site/build.js'], { cwd: root, stdio: 'inherit' }).status === 0;
}

/** Says what has run, and what runs elsewhere. */
function report() {
  const { numPassedTests, testResults, broken } = merged(results);
  const seconds = Math.round((Date.now() - started) / 1000);
  const failures = failuresOf({ testResults });
  for (const failure of failures) console.log(`\nFAILED ${describeFailure(failure)}`);
  for (const tier of broken) console.log(`\nFAILED ${tier}: jest failed, but no test did; see its output above`);
  const failed = failures.length + broken.length;
  console.log(
    `\n${results.map(({ tier }) => tier).join(', ')}: ${numPassedTests} passed, ${failed} failed, ${seconds} s`,
  );
  if (redisCount > 0) console.log(`${redisCount} Redis servers were started.`);
  if (here.paths.length > 0 || here.tiers.length > 0) return;
  const elsewhere = Object.entries(byTier).filter(([tier, tests]) => !(tier in chosen) && tests.length > 0);
  const tests = elsewhere.flatMap(([, files]) => files);
  console.log(`${tests.length} files with at least ${declaredIn(tests)} tests are in other tiers:`);
  for (const [tier, files] of elsewhere) {
    console.log(`  ${describe(tier, files)}: npm run ${tier === 'nightly' ? 'test:night' : 'test:all'}`);
  }
}

function describe(tier, tests) {
  const packages = [...new Set(tests.flatMap(packagesFor))];
  const needs = packages.length > 0 ? `; needs ${packages.join(', ')}` : '';
  return `${tier} (${tests.length} ${tests.length === 1 ? 'file' : 'files'}${needs})`;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
