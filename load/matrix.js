// The matrix: `npm run matrix -- [application…] [options]`. See README.md beside this file.

import { existsSync } from 'node:fs';
import { listed, parseArguments, readCommandLine, rejectUnknown, UsageError } from './harness/command.js';
import { applications } from './matrix/applications/index.js';
import { compare } from './matrix/compare.js';
import { examplesIn, notRun } from './matrix/examples.js';
import { gallery, notRun as notInGallery } from './matrix/gallery/index.js';
import { FetchError } from './matrix/gallery/install.js';
import { record } from './matrix/run.js';
import { closeBrowser } from './matrix/visitor.js';
import { reference, root, usualWays, ways } from './matrix/ways.js';

const command = { name: 'matrix', call: 'npm run matrix --' };

const usage = () => `${command.call} [application…] [options]
${command.call} gallery [options]

Runs applications unmodified on stock socket.io and on gjallar, visits them with the same scripts, and compares what the
visits give. Without a name, every application runs. Needs npm run build.

${listed(Object.entries(applications).map(([name, { about }]) => [name, about]))}

With "gallery", other people's applications run instead: npm fetches them at exact versions into a temporary folder.

Options:
${listed([
  ['--only a,b', 'of the gallery, only these applications'],
  ['--list', 'show the applications of the gallery, and run none'],
  ['--quick', 'leave out the applications that need Chromium or the packages of load/matrix/frameworks'],
  [
    '--examples folder',
    "run socket.io's own examples from a checkout instead; installs their packages in temporary folders",
  ],
  ['--way a,b', `run only these ways and compare them with ${reference}: ${Object.keys(ways).join(', ')}`],
  ['--help', 'show this text'],
])}

Exit code: 0; 1 when a result differs or an application failed; 2 when the arguments are wrong.`;

const { names, chosen, known, notRunOf, isList } = await readCommandLine(command, readArguments, usage);
if (isList) {
  console.log(listed(names.map((name) => [name, `${known[name].version}: ${known[name].about}`])));
  process.exit();
}
const width = Math.max(...names.map((name) => name.length));
const columns = chosen.map((way) => ways[way].title.padEnd(18));
console.log(`${'application'.padEnd(width)}  ${columns.join('  ')}`);
let failures = 0;
try {
  for (const name of names) await runApplication(name, known[name]);
} finally {
  await closeBrowser();
}
if (notRunOf) console.log(`\nNot run:\n${listed(Object.entries(notRunOf))}`);
console.log(failures === 0 ? '\nAll results are equal.' : `\n${failures} results differ or are missing.`);
process.exitCode = failures === 0 ? 0 : 1;

/** Runs one application in all ways, and prints its row. */
async function runApplication(name, application) {
  const { cells, details, ...found } = compare(await inAllWays(application));
  application.dispose?.();
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
  if (application.port || application.isSequential) for (const way of chosen) await run(way);
  else await Promise.all(chosen.map(run));
  return Object.fromEntries(chosen.map((way) => [way, outcomes[way]]));
}

async function outcomeOf(application, way) {
  if (ways[way].hasWorkers && !application.isStateless) return { leftOut: application.state ?? 'keeps state' };
  try {
    return { record: await record(application, way) };
  } catch (error) {
    if (error instanceof FetchError) return { leftOut: 'cannot be fetched', reason: error.message };
    return { failed: error.message };
  }
}

function readArguments() {
  const { values, positionals } = parseArguments({
    quick: { type: 'boolean', default: false },
    examples: { type: 'string' },
    way: { type: 'string' },
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
  });
  const isGallery = positionals[0] === 'gallery';
  if (!isGallery && (values.only !== undefined || values.list))
    throw new UsageError('--only and --list need the gallery: npm run matrix -- gallery');
  if (isGallery) positionals.splice(0, 1, ...(values.only?.split(',') ?? []));
  const { known, notRunOf } = isGallery ? { known: gallery, notRunOf: notInGallery } : applicationsOf(values.examples);
  rejectUnknown('application', positionals, Object.keys(known));
  const asked = values.way?.split(',') ?? (isGallery ? Object.keys(ways) : usualWays);
  rejectUnknown('way', asked, Object.keys(ways));
  if (!existsSync(new URL('dist/index.js', `file://${root}`)))
    throw new UsageError('there is no dist/; run npm run build');
  const all = positionals.length > 0 ? positionals : Object.keys(known);
  const names = all.filter((name) => !values.quick || !(known[name].hasPage || known[name].isHeavy));
  return {
    names,
    chosen: [...new Set([reference, ...asked])],
    known,
    notRunOf: positionals.length > 0 ? undefined : notRunOf,
    isList: isGallery && values.list,
    help: values.help,
  };
}

function applicationsOf(examples) {
  if (examples === undefined) return { known: applications };
  const known = examplesIn(examples);
  if (Object.keys(known).length === 0) throw new UsageError(`${examples} has no examples of socket.io`);
  return { known, notRunOf: notRun };
}
