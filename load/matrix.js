// The matrix: `npm run matrix -- [application…] [options]`. See README.md beside this file.

import { existsSync } from 'node:fs';
import { listed, parseArguments, readCommandLine, rejectUnknown, UsageError } from './harness/command.js';
import { applications } from './matrix/applications/index.js';
import { compare } from './matrix/compare.js';
import { examplesIn, notRun } from './matrix/examples.js';
import { record } from './matrix/run.js';
import { closeBrowser } from './matrix/visitor.js';
import { reference, root, ways } from './matrix/ways.js';

const command = { name: 'matrix', call: 'npm run matrix --' };

const usage = () => `${command.call} [application…] [options]

Runs applications unmodified on stock socket.io and on gjallar, visits them with the same scripts, and compares what the
visits give. Without a name, every application runs. Needs npm run build.

${listed(Object.entries(applications).map(([name, { about }]) => [name, about]))}

Options:
${listed([
  ['--quick', 'leave out the applications that need Chromium or the packages of load/matrix/frameworks'],
  [
    '--examples folder',
    "run socket.io's own examples from a checkout instead; installs their packages in temporary folders",
  ],
  ['--way a,b', `run only these ways and compare them with ${reference}: ${Object.keys(ways).join(', ')}`],
  ['--help', 'show this text'],
])}

Exit code: 0; 1 when a result differs or an application failed; 2 when the arguments are wrong.`;

const { names, chosen, known, isCheckout } = await readCommandLine(command, readArguments, usage);
const width = Math.max(...names.map((name) => name.length));
const columns = chosen.map((way) => ways[way].title.padEnd(18));
console.log(`${'application'.padEnd(width)}  ${columns.join('  ')}`);
let failures = 0;
try {
  for (const name of names) await runApplication(name, known[name]);
} finally {
  await closeBrowser();
}
if (isCheckout) console.log(`\nNot run:\n${listed(Object.entries(notRun))}`);
console.log(failures === 0 ? '\nAll results are equal.' : `\n${failures} results differ or are missing.`);
process.exitCode = failures === 0 ? 0 : 1;

/** Runs one application in all ways, and prints its row. */
async function runApplication(name, application) {
  const { cells, details, ...found } = compare(await inAllWays(application));
  failures += found.failures;
  console.log(`${name.padEnd(width)}  ${cells.map((cell) => cell.padEnd(18)).join('  ')}`.trimEnd());
  for (const line of details) console.log(line);
}

/** Runs an application in all ways: at the same time, unless its code fixes a port. */
async function inAllWays(application) {
  const outcomes = {};
  const run = async (way) => {
    outcomes[way] = await outcomeOf(application, way);
  };
  if (application.port) for (const way of chosen) await run(way);
  else await Promise.all(chosen.map(run));
  return Object.fromEntries(chosen.map((way) => [way, outcomes[way]]));
}

async function outcomeOf(application, way) {
  if (ways[way].hasWorkers && !application.isStateless) return { leftOut: 'keeps state' };
  try {
    return { record: await record(application, way) };
  } catch (error) {
    return { failed: error.message };
  }
}

function readArguments() {
  const { values, positionals } = parseArguments({
    quick: { type: 'boolean', default: false },
    examples: { type: 'string' },
    way: { type: 'string' },
  });
  const known = values.examples === undefined ? applications : examplesIn(values.examples);
  if (Object.keys(known).length === 0) throw new UsageError(`${values.examples} has no examples of socket.io`);
  rejectUnknown('application', positionals, Object.keys(known));
  const asked = values.way?.split(',') ?? Object.keys(ways);
  rejectUnknown('way', asked, Object.keys(ways));
  if (!existsSync(new URL('dist/index.js', `file://${root}`)))
    throw new UsageError('there is no dist/; run npm run build');
  const all = positionals.length > 0 ? positionals : Object.keys(known);
  const names = all.filter((name) => !values.quick || !(known[name].hasPage || known[name].isHeavy));
  return {
    names,
    chosen: [...new Set([reference, ...asked])],
    known,
    isCheckout: values.examples !== undefined,
    help: values.help,
  };
}
