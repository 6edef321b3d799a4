// Measures the claims of the README again: `npm run bench:verify`. See README.md beside this file.

import { join } from 'node:path';
import { benchmarks } from './benchmarks/index.js';
import { aligned, listed, parseArguments, readCommandLine } from './harness/command.js';
import { runRow } from './harness/row/run.js';
import { groupRows, readRows, usedRows } from './report/groups.js';
import { claims } from './report/overview.js';
import { docs } from './report/report.js';

/** A gain that differs by more than this share has drifted. */
const DRIFT = 0.15;

const command = { name: 'bench:verify', call: 'npm run bench:verify --' };
const usage = () => `${command.call} [benchmark…]

Measures the gains of the table in README.md again, in short runs, and names those that differ from it by more than ${DRIFT * 100}%.

${listed([
  ['benchmark', 'only the gains that it gives'],
  ['--help', 'show this text'],
])}

Exit code: 0; 1 when a gain has drifted, or a row failed; 2 when the arguments are wrong.`;

const { positionals: names } = await readCommandLine(
  command,
  () => {
    const { values, positionals } = parseArguments({});
    return { ...values, positionals };
  },
  usage,
);

const isWanted = ({ benchmark }) => names.length === 0 || names.includes(benchmark);
const recorded = groupRows(usedRows(readRows([join(docs, 'benchmarks/results.jsonl')])));
const rows = new Map();

/** The figures of a peer in a cell, which is measured once. */
async function measure(name, label, peer) {
  const key = JSON.stringify([name, label, peer]);
  if (!rows.has(key)) {
    const benchmark = benchmarks[name];
    const cell = benchmark.cells(false).find((each) => each.label === label);
    rows.set(key, await runRow(benchmark, cell, peer, true));
  }
  return rows.get(key);
}

const lines = [['claim', 'command', 'README', 'here', '']];
let wrong = 0;
for (const { about, benchmark, cell, key, peers, gain } of claims(recorded).filter(isWanted)) {
  const measured = [];
  for (const peer of peers) measured.push(await measure(benchmark, cell, peer));
  const [theirs, ours] = measured.map(({ result }) => result?.[key]);
  const here = theirs / ours;
  const notes = measured.flatMap(({ note }) => (note ? [note] : []));
  const isInvalid = measured.some(({ valid }) => !valid);
  const hasDrifted = !isInvalid && Math.abs(here / gain - 1) > DRIFT;
  if (hasDrifted || measured.some(({ failed }) => failed)) wrong++;
  const rerun = `npm run bench -- ${benchmark} --cell '${cell}' --peers ${peers.join(',')}`;
  lines.push([
    about,
    rerun,
    `${gain.toFixed(2)}×`,
    `${here.toFixed(2)}×`,
    [isInvalid ? 'not judged:' : hasDrifted ? 'DRIFTED' : '', ...notes].join(' '),
  ]);
}
for (const line of aligned(lines)) console.log(line);
process.exitCode = wrong > 0 ? 1 : 0;
