#!/usr/bin/env node
// Runs each test that failed once more, alone and in a fresh process: `.ci/rerun.mjs RESULTS`, where RESULTS is the JSON that
// jest has written. A test that passes now is flaky: it is reported, and the run may be green. See test/flaky.md.
//
// Writes { passed, failed, flaky, report } to RESULTS, and exits with 1 if anything fails again, if more than MAX_FLAKY tests
// are flaky, or if a flaky one is touched by the change: its file, or a helper that it imports, differs from the base. The base
// is $CI_BASE, the place where the branch left origin/main, or the commit before.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reaches } from '../test/setup/dependents.mjs';
import { describeFailure, failuresOf } from '../test/setup/failures.mjs';
import { tierOf } from '../test/setup/tiers.mjs';

const MAX_FLAKY = 3;
/** More failures than these are no flakes: the first ones are enough to show what is wrong. */
const MAX_RERUNS = 10;
const TIMEOUT_MS = 5 * 60_000;

const [path] = process.argv.slice(2);
const results = JSON.parse(readFileSync(path, 'utf8'));
const failures = failuresOf(results);
const changed = failures.length > 0 ? changedFiles() : new Set();
const again = failures.slice(0, MAX_RERUNS).map(rerun);
const flaky = again.filter(({ outcome }) => outcome === 'flaky');
const failed = again.filter(({ outcome }) => outcome === 'failed');
const touched = flaky.filter(({ isTouched }) => isTouched);
const unseen = failures.length - again.length;
// Jest failed, although no test did.
const { isBroken = false } = results;

const report = [
  ...flaky.map((each) => `FLAKY ${describeFailure(each)}`),
  ...touched.map(({ file, name }) => `The change touches this flaky test: ${file} › ${name ?? ''}`),
  ...failed.map((each) => `FAILED TWICE ${describeFailure(each)}`),
  ...(unseen > 0 ? [`${unseen} more failed, and were not run again.`] : []),
  ...(isBroken ? ['Jest failed, although no test did: see its output.'] : []),
  ...(flaky.length > MAX_FLAKY ? [`More than ${MAX_FLAKY} tests are flaky.`] : []),
].join('\n');
if (report) console.log(report);

const isRed = isBroken || failed.length + touched.length + unseen > 0 || flaky.length > MAX_FLAKY;
const red = flaky.length > MAX_FLAKY ? flaky.length : touched.length;
const counts = {
  passed: results.numPassedTests + flaky.length - red,
  failed: failed.length + unseen + Number(isBroken) + red,
  flaky: flaky.length,
};
writeFileSync(path, JSON.stringify({ ...counts, report }));
process.exitCode = isRed ? 1 : 0;

/** Runs a test, or a whole file, by itself. */
function rerun(failure) {
  const { file, name } = failure;
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-rerun-'));
  const output = join(folder, 'results.json');
  const only = name === undefined ? [] : ['--testNamePattern', `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`];
  const { status } = spawnSync(
    process.execPath,
    [
      ...['--experimental-vm-modules', '--no-warnings=ExperimentalWarning', 'node_modules/jest/bin/jest.js'],
      ...['--selectProjects', tierOf(file), '--testMatch', `**/${file}`, ...only],
      ...['--maxWorkers', '1', '--json', '--outputFile', output],
    ],
    { stdio: 'inherit', timeout: TIMEOUT_MS, killSignal: 'SIGKILL' },
  );
  const ran = status === 0 ? JSON.parse(readFileSync(output, 'utf8')).numPassedTests : 0;
  rmSync(folder, { recursive: true });
  const isTouched = reaches(file, (each) => changed.has(each));
  return { ...failure, outcome: ran > 0 ? 'flaky' : 'failed', isTouched };
}

/** The files that the change touches; none where the history is missing. */
function changedFiles() {
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  const ifAny = (ask) => {
    try {
      return ask();
    } catch {
      return '';
    }
  };
  const head = ifAny(() => git('rev-parse', 'HEAD'));
  const left = ifAny(() => git('merge-base', 'origin/main', 'HEAD'));
  const base = process.env.CI_BASE || (left !== head && left) || ifAny(() => git('rev-parse', 'HEAD~1'));
  // Moving a file does not make its test flaky.
  return new Set(ifAny(() => git('diff', '--name-only', '--diff-filter=r', '-M', base, 'HEAD')).split('\n'));
}
