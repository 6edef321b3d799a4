// `npm run coverage`: runs the tests, and writes to coverage/ which lines of src/ ran, in jest or in any process that a
// test started. A process that a test kills without notice leaves nothing, so the true figures are a little higher.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { Report } from 'c8';
import coverage from 'istanbul-lib-coverage';
import reporting from 'istanbul-lib-report';
import reports from 'istanbul-reports';
import { allTests } from '../setup/dependents.mjs';
import { prepare } from '../setup/prepare.mjs';

const folder = 'coverage';
const processes = `${folder}/processes`;
const inJest = `${folder}/coverage-final.json`;

const run = (command, ...args) => {
  const env = { ...process.env, PROCESS_COVERAGE: processes };
  return spawnSync(command, args, { stdio: 'inherit', env }).status;
};

const args = process.argv.slice(2);
if (!prepare(allTests(), args.includes('--install'))) process.exit(1);
rmSync(folder, { recursive: true, force: true });
mkdirSync(processes, { recursive: true });
// What runs in processes is dist/, and build/ in a few; source maps lead back to src/.
if (run('npx', 'tsc', '-p', 'tsconfig.build.json', '--sourceMap') !== 0) process.exit(1);
if (run('node', 'bundle.js', '--sourcemap') !== 0) process.exit(1);
const status = run(
  process.execPath,
  '--experimental-vm-modules',
  '--no-warnings=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
  '--coverage=true',
  // Both count by lines, so that their results can be added.
  '--coverageProvider=v8',
  ...args.filter((arg) => arg !== '--install'),
  '--coverageReporters=json',
);

const map = coverage.createCoverageMap(JSON.parse(readFileSync(inJest, 'utf8')));
const ofProcesses = new Report({
  tempDirectory: processes,
  include: ['src/**/*.ts', 'dist/**/*.js', 'build/**/*.js'],
  exclude: [],
  extension: ['.js', '.ts'],
  // There are hundreds of processes, each with a file of some megabytes.
  mergeAsync: true,
  resolve: '',
});
map.merge(await ofProcesses.getCoverageMapFromAllCoverageFiles());
map.filter((path) => path.startsWith(`${process.cwd()}/src/`));
const context = reporting.createContext({ dir: folder, coverageMap: map });
for (const name of ['text', 'html', 'json']) reports.create(name).execute(context);
rmSync(processes, { recursive: true });
process.exit(status ?? 1);
