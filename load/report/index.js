// The report of the benchmarks: `npm run bench:report -- [file…] [--out folder]`. See "Report" in load/README.md.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { listed, parseArguments, readCommandLine } from '../harness/command.js';
import { docs, plotsOf, reportOf } from './report.js';

const command = { name: 'bench:report', call: 'npm run bench:report --' };
const kept = join(docs, 'benchmarks/results.jsonl');

const usage = () => `${command.call} [file…] [--out folder]

Writes the report of the benchmarks: docs/benchmarks.md, its plots and results in docs/benchmarks, and the tables of figures
in docs/guide/scaling.md and README.md.

${listed([
  ['file', 'results that npm run bench has written (default: docs/benchmarks/results.jsonl)'],
  ['--out folder', 'where to write instead of docs/'],
  ['--help', 'show this text'],
])}`;

function readArguments() {
  const { values, positionals } = parseArguments({ out: { type: 'string', default: docs } });
  return { ...values, files: positionals.length > 0 ? positionals : [kept] };
}

const { out, files } = await readCommandLine(command, readArguments, usage);

try {
  for (const [file, text] of [...reportOf(files), ...(await plotsOf(files))]) {
    const path = join(out, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    console.log(path);
  }
} catch (error) {
  console.error(`bench:report: ${error.message}`);
  process.exitCode = 1;
}
