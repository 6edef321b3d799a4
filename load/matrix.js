// The matrix: `npm run matrix -- [application…] [options]`. See README.md beside this file.

import { existsSync } from 'node:fs';
import { listed, parseArguments, readCommandLine, rejectUnknown, UsageError } from './harness/command.js';
import { program } from './harness/service.js';
import { applications, gallery } from './matrix/applications.js';
import { compare, ways } from './matrix/compare.js';
import { FetchError, install } from './matrix/install.js';

const command = { name: 'matrix', call: 'npm run matrix --' };
const usualWays = ['register', 'run'];

const aboutOf = (known) => listed(Object.entries(known).map(([name, { about }]) => [name, about]));

const usage = () => `${command.call} [application…] [options]
${command.call} gallery [options]

Runs applications unmodified on stock socket.io and on gjallar with "gjallar compare", and says where they differ. Without a
name, every application runs. Needs npm run build.

${aboutOf(applications)}

With "gallery", applications of other people run instead: npm fetches them at exact versions into a temporary folder.

${aboutOf(gallery)}

Options:
${listed([
  ['--only a,b', 'of the gallery, only these applications'],
  ['--list', 'show the applications with their versions, and run none'],
  ['--quick', 'only on gjallar/register, and without what npm must fetch'],
  ['--way a,b', `only these ways: ${Object.keys(ways).join(', ')}`],
  ['--help', 'show this text'],
])}

Exit code: 0; 1 when a result differs or an application failed; 2 when the arguments are wrong.`;

const { names, chosen, known, isList } = await readCommandLine(command, readArguments, usage);
if (isList) {
  const rows = names.map((name) => [
    name,
    `${known[name].version ? `${known[name].version}: ` : ''}${known[name].about}`,
  ]);
  console.log(listed(rows));
  process.exit();
}
const width = Math.max(...names.map((name) => name.length), 'application'.length);
const print = (name, cells) =>
  console.log([name.padEnd(width), ...cells.map((cell) => cell.padEnd(24))].join('  ').trimEnd());
print(
  'application',
  chosen.map((way) => ways[way].title),
);
let failures = 0;
for (const name of names) await runApplication(name, known[name]);
console.log(failures === 0 ? '\nAll results are equal.' : `\n${failures} results differ or are missing.`);
process.exit(failures === 0 ? 0 : 1);

/** Compares one application in all ways, and prints its row. */
async function runApplication(name, application) {
  const details = [];
  const cells = [];
  let folder;
  for (const way of chosen) {
    if (way === 'run' && application.state) {
      cells.push(application.state);
      continue;
    }
    try {
      if (application.from) folder ??= install(application.from);
      const { compared, differences } = await compare({ ...application, folder }, way);
      cells.push(differences.length === 0 ? `equal (${compared} values)` : `differs in ${differences.length}`);
      if (differences.length > 0) failures++;
      details.push(...differences.map((line) => `  ${way}: ${line}`));
    } catch (error) {
      const isFetching = error instanceof FetchError;
      cells.push(isFetching ? 'cannot be fetched' : 'failed');
      if (!isFetching) failures++;
      details.push(`  ${way}: ${error.message}`);
    }
  }
  print(name, cells);
  for (const line of details) console.log(line);
}

function readArguments() {
  const { values, positionals } = parseArguments({
    quick: { type: 'boolean', default: false },
    way: { type: 'string' },
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
  });
  const isGallery = positionals[0] === 'gallery';
  if (!isGallery && values.only !== undefined)
    throw new UsageError('--only needs the gallery: npm run matrix -- gallery');
  if (isGallery) positionals.splice(0, 1, ...(values.only?.split(',') ?? []));
  const known = isGallery ? gallery : applications;
  rejectUnknown('application', positionals, Object.keys(known));
  const asked = values.way?.split(',') ?? (values.quick ? ['register'] : isGallery ? Object.keys(ways) : usualWays);
  rejectUnknown('way', asked, Object.keys(ways));
  if (!existsSync(program)) throw new UsageError('there is no dist/; run npm run build');
  const all = positionals.length > 0 ? positionals : Object.keys(known);
  const names = all.filter((name) => !values.quick || isGallery || !known[name].from);
  return { names, chosen: asked, known, isList: values.list, help: values.help };
}
