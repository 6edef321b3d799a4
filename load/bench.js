// The benchmarks: `npm run bench -- [benchmark…] [options]`. See README.md beside this file.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { program } from '../test/support/service.js';
import { figures } from './against/figures.js';
import { runAgainst } from './against/index.js';
import { benchmarks } from './benchmarks/index.js';
import { listed, numberOption, parseArguments, readCommandLine, rejectUnknown, UsageError } from './harness/command.js';
import { commitOf } from './harness/older.js';
import { isForeign } from './harness/process/foreign.js';
import { record, tableOf } from './harness/results.js';
import { runRow } from './harness/row/run.js';
import { bases, morePeers, usualPeers } from './peers/index.js';
import { readmeRows } from './report/overview.js';

const command = { name: 'bench', call: 'npm run bench --' };

const usual = Object.keys(usualPeers);
const byName = Object.keys(morePeers);
/** Not a benchmark of its own: the rows of the README's table. */
const README = 'readme';

const usage = () => `${command.call} [benchmark…] [options]

Measures gjallar beside stock socket.io and other servers. Without a name, every benchmark runs. Needs npm run build.

${listed([
  ...Object.entries(benchmarks).map(([name, { about }]) => [name, about]),
  [README, 'what the table of README.md shows, and nothing else'],
])}

Options:
${listed([
  ['--quick', 'fewer and shorter cells'],
  ['--peers a,b', 'only these peers'],
  ['--foreign', 'peers in Go, Java and Rust too, which go, mvn and cargo build first'],
  ['--cell text', 'only the cells whose name contains this text'],
  ['--out file', 'append each result to this file (default: load/results/results.jsonl)'],
  ['--against ref', 'compare this checkout with another commit, in turns, on stock socket.io too: see below'],
  ['--base name', `compare gjallar on this base with stock socket.io, in turns: ${Object.keys(bases).join(', ')}`],
  ['--rounds n', 'with --against or --base: how many rounds (5)'],
  ['--help', 'show this text'],
])}

With --against or --base, the names are figures:

${listed(Object.entries(figures).map(([name, { about }]) => [name, about]))}

Peers: ${usual.join(', ')};
by name, and in some benchmarks: ${byName.join(', ')}.
A benchmark may have peers of its own instead; its table names them.

Exit code: 0; 1 when a row failed; 2 when the arguments are wrong.`;

const { names, ...options } = await readCommandLine(command, readArguments, usage);
if (options.base) process.exit((await runAgainst({ names, ...options })) > 0 ? 1 : 0);
const chosen = options.peers ? ` --peers ${options.peers}` : '';
const only = options.cell ? ` --cell '${options.cell}'` : '';
const more = `${options.foreign ? ' --foreign' : ''}${options.quick ? ' --quick' : ''}`;
const rerun = `npm run bench -- ${names.join(' ')}${chosen}${only}${more}`;
let failures = 0;
for (const { name, cells, peers } of planOf(names, options)) {
  const benchmark = benchmarks[name];
  if (peers.length === 0 || cells.length === 0) continue;
  console.log(`\n${name}: ${benchmark.about}`);
  const saturated = new Map();
  for (const cell of cells) await runCell(name, cell, peers, saturated);
}
process.exitCode = failures > 0 ? 1 : 0;

/** Runs all peers through one cell, one after the other, so that compared figures were measured within a minute. */
async function runCell(name, cell, peers, saturated) {
  const benchmark = benchmarks[name];
  console.log(`\n ${cell.label}`);
  const print = tableOf(benchmark.columns, peers);
  for (const peer of peers) {
    progress(`${peer} …`);
    const row =
      cell.ladder && saturated.has(peer)
        ? { peer, note: `not run: saturated at ${saturated.get(peer)}` }
        : await runRow(benchmark, cell, peer, options.quick);
    if (row.failed) failures++;
    if (cell.ladder && row.result?.saturated) saturated.set(peer, cell.short ?? cell.label);
    const { label, short: _, ladder: __, ...parameters } = cell;
    record(options.out, { benchmark: name, cell: label, parameters, quick: options.quick, command: rerun, ...row });
    progress('');
    print(row);
  }
}

/** What runs: of each benchmark, the cells and the peers. */
function planOf(names, options) {
  return names.flatMap((name) =>
    name === README
      ? readmeRows(benchmarks).map((row) => ({ ...row, peers: options.peers ?? row.peers }))
      : [{ name, cells: cellsOf(benchmarks[name], options), peers: peersOf(benchmarks[name], options) }],
  );
}

/** The chosen peers, or those that the benchmark runs by default; some benchmarks have peers of their own. */
function peersOf({ peers: own, also = [] }, { peers: chosen, foreign }) {
  const all = own ? Object.keys(own) : [...usual, ...byName];
  const wanted = chosen ?? (own ? all : [...usual, ...also]);
  return all.filter((peer) => wanted.includes(peer) && (chosen || foreign || !isForeign(peer)));
}

function progress(text) {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K  ${text}${text ? '' : '\r'}`);
}

function cellsOf(benchmark, { quick, cell = '' }) {
  return benchmark.cells(quick).filter(({ label }) => label.includes(cell));
}

function readArguments() {
  const { values, positionals } = parseArguments({
    quick: { type: 'boolean', default: false },
    peers: { type: 'string' },
    foreign: { type: 'boolean', default: false },
    cell: { type: 'string' },
    against: { type: 'string' },
    base: { type: 'string' },
    rounds: { type: 'string' },
    out: { type: 'string', default: fileURLToPath(new URL('results/results.jsonl', import.meta.url)) },
  });
  if (!existsSync(program)) throw new UsageError('there is no dist/; run npm run build');
  const rounds = numberOption(values, 'rounds') ?? 5;
  if ((values.against ?? values.base) !== undefined) return { ...values, ...inTurns(values, positionals), rounds };
  const own = Object.values(benchmarks).flatMap((benchmark) => Object.keys(benchmark.peers ?? {}));
  const chosen = values.peers?.split(',');
  rejectUnknown('benchmark', positionals, [...Object.keys(benchmarks), README]);
  rejectUnknown('peer', chosen ?? [], [...usual, ...byName, ...own]);
  const names = positionals.length > 0 ? positionals : Object.keys(benchmarks);
  if (planOf(names, values).every(({ cells }) => cells.length === 0)) {
    throw new UsageError(`no cell of ${names.join(', ')} contains "${values.cell}"`);
  }
  return { ...values, names, peers: chosen };
}

/** The figures that are compared in turns, with the commit that `--against` names, if there is one. */
function inTurns({ against, base = 'native' }, positionals) {
  rejectUnknown('base', [base], Object.keys(bases));
  // A benchmark with peers of its own need not have one for each base.
  const known = Object.keys(figures).filter((name) => {
    const { peers: own } = benchmarks[figures[name].benchmark];
    return !own || bases[base] in own;
  });
  rejectUnknown('figure', positionals, known);
  const commit = against === undefined ? undefined : commitOf(against);
  if (against !== undefined && !commit) throw new UsageError(`--against: there is no commit "${against}"`);
  return { against: commit, base, names: positionals.length > 0 ? positionals : known };
}
