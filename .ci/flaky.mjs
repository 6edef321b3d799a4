#!/usr/bin/env node
// Runs each test of test/flaky.md twenty times, beside a busy process for each core. Exits with 1 if one fails.
// Takes the file of one test to run that alone.

import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const TIMES = 20;

const [, , only] = process.argv;
const rows = [...readFileSync('test/flaky.md', 'utf8').matchAll(/^\| (test\/\S+) \| (.+?) \| .+ \|$/gm)].filter(
  ([, file]) => !only || file === only,
);
const busy = Array.from({ length: availableParallelism() }, () => spawn(process.execPath, ['-e', 'for (;;);']));
try {
  for (const [, file, name] of rows) {
    const pattern = name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    let failed = 0;
    for (let time = 0; time < TIMES; time++) {
      const { status } = spawnSync(
        process.execPath,
        [
          ...['--experimental-vm-modules', '--no-warnings=ExperimentalWarning', 'node_modules/jest/bin/jest.js'],
          ...['--runTestsByPath', file, '--testNamePattern', pattern, '--maxWorkers', '1', '--silent'],
        ],
        { stdio: 'inherit' },
      );
      if (status !== 0) failed++;
    }
    console.log(`${file} › ${name}: failed ${failed} of ${TIMES} times`);
    if (failed > 0) process.exitCode = 1;
  }
} finally {
  for (const child of busy) child.kill('SIGKILL');
}
