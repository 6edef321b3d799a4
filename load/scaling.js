// Capacity planning: `node load/scaling.js [file…]` prints the last chapter of the report. See README.md beside this file.

import { fileURLToPath } from 'node:url';
import { listed, parseArguments, readCommandLine } from './harness/command.js';
import { groupRows } from './report/results/groups.js';
import { readRows, usedRows } from './report/results/rows.js';
import { scalingChapter } from './report/scaling.js';

const command = { name: 'scaling', call: 'node load/scaling.js' };
const kept = fileURLToPath(new URL('../docs/benchmarks/results.jsonl', import.meta.url));

const usage = () => `${command.call} [file…]

Calculates how many machines and Redis shards 1, 10 and 100 million users need, and prints the result as Markdown.
Costs come from the results of the benchmarks, assumptions from load/report/scaling/assumptions.js.

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
  console.log(scalingChapter(groupRows(usedRows(readRows(files)))));
} catch (error) {
  console.error(`${command.name}: ${error.message}`);
  process.exitCode = 1;
}
