// The protocol suites of socket.io: `npm run suites -- --checkout DIR [suite…] [options]`. See README.md beside this file.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listed, numberOption, parseArguments, readCommandLine, rejectUnknown, UsageError } from './harness/command.js';
import { atExit } from './harness/process/at-exit.js';
import { servers } from './suites/servers.js';
import { folderOf, Suite, suites } from './suites/suite.js';

const command = { name: 'suites', call: 'npm run suites --' };

const usage = () => `${command.call} [suite…] --checkout folder [options]

Runs the protocol suites of a checkout of socket.io against several servers, in turn, so that all of them run under the
same load. Installs the packages of the suites in a temporary folder. Needs npm run build.

${listed(Object.entries(suites).map(([name, { about }]) => [name, about]))}

Options:
${listed([
  ['--checkout folder', 'the checkout of socket.io'],
  [
    '--on a,b',
    `the servers: ${Object.entries(servers)
      .map(([name, { about }]) => `${name} (${about('several')})`)
      .join(', ')}`,
  ],
  ['--runs n', 'how often each suite runs on each server (20)'],
  ['--workers n', 'the number of workers (4)'],
  ['--help', 'show this text'],
])}

Exit code: 0; 1 when a test failed on gjallar; 2 when the arguments are wrong.`;

const { names, on, runs, workers, checkout } = await readCommandLine(command, readArguments, usage);
const folder = mkdtempSync(join(tmpdir(), 'gjallar-suites-'));
atExit(() => rmSync(folder, { recursive: true, force: true }));
let isOk = true;
for (const name of names) isOk = (await runSuite(name)) && isOk;
process.exit(isOk ? 0 : 1);

/** Runs one suite on all servers, and prints a line for each, and the tests that failed. */
async function runSuite(name) {
  const suite = new Suite(checkout, name, folder);
  suite.install();
  const rows = await Promise.all(
    on.map(async (server) => ({
      server,
      running: await servers[server].start({ SUITE: name, workers, folder }),
      clean: 0,
      most: 0,
      failed: new Map(),
    })),
  );
  for (let run = 0; run < runs; run++) {
    for (const row of rows) count(row, await suite.run(row.running.port));
  }
  for (const row of rows) {
    await row.running.stop();
    const title = `${name}, ${servers[row.server].about(workers)}`;
    console.log(`${title.padEnd(52)} ${row.clean} of ${runs} runs pass all ${row.most} tests`);
    for (const [failure, times] of row.failed) console.log(`    ${times} × ${failure}`);
  }
  return rows.every(({ server, clean }) => server === 'stock' || clean === runs);
}

function count(row, { passed, failed }) {
  if (failed.length === 0) row.clean++;
  row.most = Math.max(row.most, passed + failed.length);
  for (const { title, message } of failed) {
    const failure = `${title}: ${message}`;
    row.failed.set(failure, (row.failed.get(failure) ?? 0) + 1);
  }
}

function readArguments() {
  const { values, positionals } = parseArguments({
    checkout: { type: 'string' },
    on: { type: 'string' },
    runs: { type: 'string' },
    workers: { type: 'string' },
  });
  rejectUnknown('suite', positionals, Object.keys(suites));
  const on = values.on?.split(',') ?? Object.keys(servers);
  rejectUnknown('server', on, Object.keys(servers));
  if (!values.help && values.checkout === undefined) throw new UsageError('--checkout is missing');
  const names = positionals.length > 0 ? positionals : Object.keys(suites);
  if (!values.help) for (const name of names) folderOf(values.checkout, name);
  if (!existsSync(new URL('../dist/main.js', import.meta.url)))
    throw new UsageError('there is no dist/; run npm run build');
  return {
    names,
    on,
    runs: numberOption(values, 'runs') ?? 20,
    workers: numberOption(values, 'workers') ?? 4,
    checkout: values.checkout,
    help: values.help,
  };
}
