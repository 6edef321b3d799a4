// Runs the tests:
//
//   npm test                        unit and process, which need Node and npm only
//   npm run test:all [-- --install] these, long, system, and the documentation
//   npm test -- test/service/chat           what is in a folder, whatever its tiers
//
// Each tier is a project of jest: see jest.config.js. Other arguments are for jest.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { matching, parseArguments } from './arguments.mjs';
import { describeFailure, failuresOf } from './failures.mjs';
import { prepare } from './prepare.mjs';
import { packagesFor, TIERS, testsByTier } from './tiers.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { paths, tiers, all, install, jest, outputFile } = parseArguments(process.argv.slice(2));
const byTier = testsByTier();

const chosen = choose();
if (!prepare(Object.values(chosen).flat(), install)) process.exit(1);
const isGreen = runJest() && documentation();
if (paths.length === 0 && tiers.length === 0) tellRest();
process.exit(isGreen ? 0 : 1);

/** The tiers to run, each with its test files. */
function choose() {
  const standard = all ? Object.keys(TIERS) : ['unit', 'process'];
  const names = tiers.length > 0 ? tiers : paths.length > 0 ? Object.keys(TIERS) : standard;
  const unknown = names.filter((name) => !(name in TIERS));
  if (unknown.length > 0) fail(`There is no tier "${unknown[0]}". The tiers are ${Object.keys(TIERS).join(', ')}.`);
  const entries = names.map((name) => [name, paths.length > 0 ? matching(byTier[name], paths) : byTier[name]]);
  const found = entries.filter(([, tests]) => tests.length > 0);
  if (found.length === 0) fail(`No test file fits ${paths.join(' ')}.`);
  if (paths.length > 0) for (const [name, tests] of found) console.log(describe(name, tests));
  return Object.fromEntries(found);
}

function runJest() {
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-results-'));
  const output = join(folder, 'results.json');
  const node = ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
  // More test files at once than cores: those that wait for time-outs leave the cores idle.
  const workers = `--maxWorkers=${Math.ceil(1.5 * availableParallelism())}`;
  const hasWorkers = jest.some((arg) => /^(-w|--maxWorkers|-i|--runInBand)/.test(arg));
  const args = [
    ...[...node, '--json', '--outputFile', output, ...(hasWorkers ? [] : [workers]), ...jest],
    ...['--selectProjects', ...Object.keys(chosen)],
    // The files themselves: jest would compare a pattern with absolute paths, of which the folder of the checkout is a part.
    ...(paths.length > 0 ? ['--runTestsByPath', '--', ...Object.values(chosen).flat()] : []),
  ];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  const result = existsSync(output) ? JSON.parse(readFileSync(output, 'utf8')) : { testResults: [] };
  rmSync(folder, { recursive: true });
  const failures = failuresOf(result);
  for (const failure of failures) console.log(`\nFAILED ${describeFailure(failure)}`);
  // What stays open, or goes on after the tests, makes jest fail although they have passed.
  const isBroken = status !== 0 && failures.length === 0;
  if (isBroken) console.log('\nFAILED: jest failed, but no test did; see its output above');
  if (outputFile) writeFileSync(outputFile, JSON.stringify({ ...result, isBroken }));
  return status === 0;
}

/** With --all, builds the site of the documentation, which fails on dead links. */
function documentation() {
  if (!all || paths.length > 0) return true;
  console.log('\n== documentation');
  return spawnSync(process.execPath, ['docs/site/build.js'], { cwd: root, stdio: 'inherit' }).status === 0;
}

/** Says what runs elsewhere. */
function tellRest() {
  for (const [tier, tests] of Object.entries(byTier).filter(([name]) => !(name in chosen)))
    console.log(`Not run: ${describe(tier, tests)}: npm run test:all`);
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
