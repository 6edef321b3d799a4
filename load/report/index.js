// The report of the benchmarks: `npm run bench:report -- [file…]`. See "Report" in load/README.md.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listed, parseArguments, readCommandLine } from '../harness/command.js';
import { docs, plotsOf, reportOf } from './report.js';

const command = { name: 'bench:report', call: 'npm run bench:report --' };
const kept = join(docs, 'benchmarks/results.jsonl');

const usage = () => `${command.call} [file…]

Writes the report of the benchmarks: docs/benchmarks.md, its plots and results in docs/benchmarks, and the tables of figures
in docs/guide/scaling.md and README.md.

${listed([
  ['file', 'results that npm run bench has written (default: docs/benchmarks/results.jsonl)'],
  ['--help', 'show this text'],
])}`;

function readArguments() {
  const { values, positionals } = parseArguments({});
  return { ...values, files: positionals.length > 0 ? positionals : [kept] };
}

const { files } = await readCommandLine(command, readArguments, usage);

try {
  for (const [file, text] of [...reportOf(files), ...(await plotsOf(files))]) {
    const path = join(docs, file);
    writeFileSync(path, text);
    console.log(path);
  }
} catch (error) {
  console.error(`bench:report: ${error.message}`);
  process.exitCode = 1;
}
