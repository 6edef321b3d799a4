// The matrix: `npm run matrix -- [application…] [options]`. See README.md beside this file.

import { existsSync } from 'node:fs';
import { listed, parseArguments, readCommandLine, rejectUnknown, UsageError } from './harness/command.js';
import { applications } from './matrix/applications/index.js';
import { differences, valuesIn } from './matrix/differences.js';
import { record } from './matrix/run.js';
import { closeBrowser, NoBrowser } from './matrix/visitor.js';
import { reference, root, ways } from './matrix/ways.js';

const command = { name: 'matrix', call: 'npm run matrix --' };

const usage = () => `${command.call} [application…] [options]

Runs applications unmodified on stock socket.io and on gjallar, visits them with the same scripts, and compares what the
visits give. Without a name, every application runs. Needs npm run build.

${listed(Object.entries(applications).map(([name, { about }]) => [name, about]))}

Options:
${listed([
  ['--quick', 'leave out the applications that need Chromium or the packages of load/matrix/frameworks'],
  ['--way a,b', `run only these ways and compare them with ${reference}: ${Object.keys(ways).join(', ')}`],
  ['--help', 'show this text'],
])}

Exit code: 0; 1 when a result differs or an application failed; 2 when the arguments are wrong.`;

const { names, chosen } = await readCommandLine(command, readArguments, usage);
const width = Math.max(...names.map((name) => name.length));
const columns = chosen.map((way) => ways[way].title.padEnd(18));
console.log(`${'application'.padEnd(width)}  ${columns.join('  ')}`);
let failures = 0;
try {
  for (const name of names) await runApplication(name, applications[name]);
} finally {
  await closeBrowser();
}
console.log(failures === 0 ? '\nAll results are equal.' : `\n${failures} results differ or are missing.`);
process.exitCode = failures === 0 ? 0 : 1;

/** Runs one application in all ways, and prints its row. */
async function runApplication(name, application) {
  const outcomes = await Promise.all(chosen.map((way) => outcomeOf(application, way)));
  const expected = outcomes[chosen.indexOf(reference)];
  const details = [];
  const cells = outcomes.map((outcome, index) => {
    const way = chosen[index];
    if (outcome.leftOut) return outcome.leftOut;
    if (outcome.failed) {
      failures++;
      details.push(`  ${way}: ${outcome.failed}`);
      return 'failed';
    }
    if (way === reference) return `${valuesIn(outcome.record)} values`;
    if (!expected.record) return 'not compared';
    const found = differences(comparable(expected.record, way), outcome.record);
    if (found.length === 0) return 'equal';
    failures++;
    details.push(...found.map((line) => `  ${way}: ${line}`));
    return `differs in ${found.length}`;
  });
  console.log(`${name.padEnd(width)}  ${cells.map((cell) => cell.padEnd(18)).join('  ')}`.trimEnd());
  for (const line of details) console.log(line);
}

async function outcomeOf(application, way) {
  if (ways[way].hasWorkers && !application.isStateless) return { leftOut: 'keeps state' };
  try {
    return { record: await record(application, way) };
  } catch (error) {
    if (error instanceof NoBrowser) return { leftOut: error.message };
    return { failed: error.message };
  }
}

/** With several workers, the output is that of all of them. */
function comparable({ visit, ...printed }, way) {
  return ways[way].hasWorkers ? { visit } : { visit, ...printed };
}

function readArguments() {
  const { values, positionals } = parseArguments({
    quick: { type: 'boolean', default: false },
    way: { type: 'string' },
  });
  rejectUnknown('application', positionals, Object.keys(applications));
  const asked = values.way?.split(',') ?? Object.keys(ways);
  rejectUnknown('way', asked, Object.keys(ways));
  if (!existsSync(new URL('dist/index.js', `file://${root}`)))
    throw new UsageError('there is no dist/; run npm run build');
  const all = positionals.length > 0 ? positionals : Object.keys(applications);
  const names = all.filter((name) => !values.quick || !(applications[name].hasPage || applications[name].isHeavy));
  return { names, chosen: [...new Set([reference, ...asked])], help: values.help };
}
