// The matrix: `npm run matrix -- [application…] [options]`. See README.md beside this file.

import { existsSync } from 'node:fs';
import { program } from '../test/support/service.js';
import { listed, parseArguments, readCommandLine, rejectUnknown, UsageError } from './harness/command.js';
import { applications } from './matrix/applications.js';
import { compare, FetchError, install, ways } from './matrix/compare.js';

const command = { name: 'matrix', call: 'npm run matrix --' };

const isGallery = (name) => applications[name].version !== undefined;
const named = (names) => {
  const told = ({ version, about }) => (version ? `${version}: ${about}` : about);
  return listed(names.map((name) => [name, told(applications[name])]));
};
const gallery = Object.keys(applications).filter(isGallery);
const own = Object.keys(applications).filter((name) => !isGallery(name));

const usage = () => `${command.call} [application…] [options]

Runs applications unmodified on stock socket.io and on gjallar with "gjallar compare", and says where they differ. Reloads some
of them with connectionStateRecovery while their clients talk, none of which may notice. Needs npm run build. Without a name,
these run:

${named(own)}

"gallery" names applications of other people, which npm fetches at exact versions into a temporary folder:

${named(gallery)}

Options:
${listed([
  ['--list', 'show the applications, and run none'],
  ['--way a,b', `only these ways: ${Object.keys(ways).join(', ')}; by default, portable runs in the gallery only`],
  ['--help', 'show this text'],
])}

Exit code: 0; 1 when a result differs or an application failed; 2 when the arguments are wrong.`;

const { names, chosen, isList } = await readCommandLine(command, readArguments, usage);
if (isList) {
  console.log(named(names));
  process.exit();
}
const width = Math.max(...names.map((name) => name.length), 'application'.length);
const print = (name, cells) =>
  console.log([name.padEnd(width), ...cells.map((cell) => cell.padEnd(24))].join('  ').trimEnd());
const titles = chosen.map((way) => ways[way].title);
print('application', titles);
let failures = 0;
for (const name of names) await runApplication(name, applications[name]);
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
    if (way === 'moves' && !application.talk) {
      cells.push('not reloaded');
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
    way: { type: 'string' },
    list: { type: 'boolean', default: false },
  });
  const asked = positionals.flatMap((name) => (name === 'gallery' ? gallery : [name]));
  rejectUnknown('application', asked, Object.keys(applications));
  const names = asked.length > 0 ? asked : own;
  const chosen =
    values.way?.split(',') ?? Object.keys(ways).filter((way) => way !== 'portable' || names.some(isGallery));
  rejectUnknown('way', chosen, Object.keys(ways));
  if (!existsSync(program)) throw new UsageError('there is no dist/; run npm run build');
  return { names, chosen, isList: values.list, help: values.help };
}
