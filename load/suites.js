// The protocol suites of socket.io: `npm run suites -- --checkout DIR [suite…] [options]`. See README.md beside this file.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atExit, own } from '../test/support/children.js';
import { program } from '../test/support/service.js';
import { listed, numberOption, parseArguments, readCommandLine, rejectUnknown, UsageError } from './harness/command.js';
import { runTool } from './harness/process/tool.js';
import { servers } from './suites/servers.js';

const command = { name: 'suites', call: 'npm run suites --' };

/** The suites, each with its folder in a checkout of socket.io. */
const suites = {
  engine: { about: 'the Engine.IO protocol, revision 4', folder: 'docs/engine.io-protocol/v4-test-suite' },
  socket: { about: 'the Socket.IO protocol, revision 5', folder: 'docs/socket.io-protocol/v5-test-suite' },
};
/** How long one run of a suite may take, in ms. */
const MAX_RUN_MS = 60_000;
/** The server in the code of a suite. */
const ADDRESS = 'http://localhost:3000';

const usage = () => `${command.call} [suite…] --checkout folder [options]

Runs the protocol suites of a checkout of socket.io against several servers, in turn, so that all of them run under the
same load. Installs the packages of the suites in a temporary folder. Needs npm run build.

${listed(Object.entries(suites).map(([name, { about }]) => [name, about]))}

Servers:
${listed(Object.entries(servers).map(([name, { about }]) => [name, about]))}

Options:
${listed([
  ['--checkout folder', 'the checkout of socket.io'],
  ['--on a,b', 'only these servers'],
  ['--runs n', 'how often each suite runs on each server (20)'],
  ['--help', 'show this text'],
])}

Exit code: 0; 1 when a test failed on gjallar; 2 when the arguments are wrong.`;

const { names, on, runs, checkout } = await readCommandLine(command, readArguments, usage);
const temporary = mkdtempSync(join(tmpdir(), 'gjallar-suites-'));
atExit(() => rmSync(temporary, { recursive: true, force: true }));
let isOk = true;
for (const name of names) isOk = (await runSuite(name)) && isOk;
process.exit(isOk ? 0 : 1);

/** Runs one suite on all servers, and prints a line for each, and the tests that failed. */
async function runSuite(name) {
  const folder = install(name);
  const rows = await Promise.all(
    on.map(async (server) => {
      const running = await servers[server].start({ SUITE: name });
      return { server, running, clean: 0, most: 0, failed: new Map() };
    }),
  );
  for (let run = 0; run < runs; run++) {
    for (const row of rows) count(row, await runOnce(folder, row.running.port));
  }
  for (const row of rows) {
    await row.running.stop();
    const title = `${name}, ${servers[row.server].about}`;
    console.log(`${title.padEnd(52)} ${row.clean} of ${runs} runs pass all ${row.most} tests`);
    for (const [failure, times] of row.failed) console.log(`    ${times} × ${failure}`);
  }
  return rows.every(({ server, clean }) => server === 'stock' || clean === runs);
}

/** Copies a suite into a folder of its own, with its packages. The checkout stays as it is. */
function install(name) {
  const folder = join(temporary, name);
  cpSync(join(checkout, suites[name].folder), folder, { recursive: true });
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm ci failed in ${folder}: ${stderr}`);
  return folder;
}

/** What mocha reports of one run against a port. */
async function runOnce(folder, port) {
  const file = join(folder, `on-${port}.js`);
  const code = readFileSync(join(folder, 'test-suite.js'), 'utf8');
  if (!code.includes(ADDRESS)) throw new Error(`the suite does not name ${ADDRESS}`);
  writeFileSync(file, code.replaceAll(ADDRESS, `http://127.0.0.1:${port}`));
  const report = join(folder, 'report.json');
  const args = [
    'node_modules/mocha/bin/mocha',
    '--exit',
    '--reporter',
    'json',
    '--reporter-option',
    `output=${report}`,
    file,
  ];
  rmSync(report, { force: true });
  await runTool([process.execPath, ...args], { cwd: folder, timeout: MAX_RUN_MS, onSpawn: own });
  if (!existsSync(report)) throw new Error('a run of the suite ended without a result');
  return JSON.parse(readFileSync(report, 'utf8'));
}

function count(row, { passes, failures }) {
  if (failures.length === 0) row.clean++;
  row.most = Math.max(row.most, passes.length + failures.length);
  for (const { fullTitle, err } of failures) {
    const failure = `${fullTitle}: ${err.message}`;
    row.failed.set(failure, (row.failed.get(failure) ?? 0) + 1);
  }
}

function readArguments() {
  const text = { type: 'string' };
  const { values, positionals } = parseArguments({ checkout: text, on: text, runs: text });
  rejectUnknown('suite', positionals, Object.keys(suites));
  const on = values.on?.split(',') ?? Object.keys(servers);
  rejectUnknown('server', on, Object.keys(servers));
  const names = positionals.length > 0 ? positionals : Object.keys(suites);
  const { checkout, help } = values;
  if (!help && checkout === undefined) throw new UsageError('--checkout is missing');
  const missing = names.find((name) => !help && !existsSync(join(checkout, suites[name].folder)));
  if (missing) throw new UsageError(`${checkout} has no ${suites[missing].folder}`);
  if (!existsSync(program)) throw new UsageError('there is no dist/; run npm run build');
  return { names, on, runs: numberOption(values, 'runs') ?? 20, checkout, help };
}
