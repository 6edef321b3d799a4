// The benchmarks: `npm run bench -- [name…] [--quick] [--peers a,b] [--cell text] [--out file]`.
// See README.md beside this file.

import { parseArgs } from 'node:util';
import { benchmarks } from './benchmarks/index.js';
import { printTable, record } from './harness/results.js';
import { runRow } from './harness/run.js';

const peers = ['socketio-ws', 'socketio-uws', 'uws', 'gjallar'];
/** Peers that run only when asked for by name, or where a benchmark says `also`. */
const more = ['socketio-ws-tuned', 'uws-deferred', 'ws-cluster', 'gorilla', 'netty', 'tungstenite'];

const { names, options } = readArguments();
const chosen = options.peers ? ` --peers ${options.peers}` : '';
const only = options.cell ? ` --cell '${options.cell}'` : '';
const command = `npm run bench -- ${names.join(' ')}${chosen}${only}${options.quick ? ' --quick' : ''}`;
let failures = 0;
for (const name of names) {
  const benchmark = benchmarks[name];
  if (peersOf(benchmark).length === 0) continue;
  console.log(`\n${name}: ${benchmark.about}`);
  const saturated = new Map();
  const cells = benchmark.cells(options.quick).filter(({ label }) => label.includes(options.cell ?? ''));
  for (const cell of cells) await runCell(name, benchmark, cell, saturated);
}
process.exitCode = failures > 0 ? 1 : 0;

/** Runs all peers through one cell, one after the other, so that what is compared was measured within a minute. */
async function runCell(name, benchmark, cell, saturated) {
  console.log(`\n ${cell.label}`);
  const rows = [];
  for (const peer of peersOf(benchmark)) {
    progress(`${peer} …`);
    const row =
      cell.ladder && saturated.has(peer)
        ? { peer, note: `not run: saturated at ${saturated.get(peer)}` }
        : await runRow(benchmark, cell, peer, options.quick);
    if (row.failed) failures++;
    if (cell.ladder && row.result?.saturated) saturated.set(peer, cell.short ?? cell.label);
    const { label, short: _, ladder: __, ...parameters } = cell;
    record(options.out, { benchmark: name, cell: label, parameters, quick: options.quick, command, ...row });
    rows.push(row);
  }
  progress('');
  printTable(benchmark.columns, rows);
}

/** Those chosen, or all that the benchmark runs by itself; some have peers of their own. */
function peersOf({ peers: own, also = [] }) {
  const all = own ? Object.keys(own) : [...peers, ...more];
  const wanted = options.peers ?? (own ? all : [...peers, ...also]);
  return all.filter((peer) => wanted.includes(peer));
}

function progress(text) {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K  ${text}${text ? '' : '\r'}`);
}

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      peers: { type: 'string' },
      cell: { type: 'string' },
      out: { type: 'string', default: new URL('results/results.jsonl', import.meta.url).pathname },
    },
  });
  const chosen = values.peers?.split(',');
  const known = [
    ...peers,
    ...more,
    ...Object.values(benchmarks).flatMap((benchmark) => Object.keys(benchmark.peers ?? {})),
  ];
  const unknown = [
    ...positionals.filter((name) => !Object.hasOwn(benchmarks, name)),
    ...(chosen ?? []).filter((peer) => !known.includes(peer)),
  ];
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(', ')}`);
    console.error(`benchmarks: ${Object.keys(benchmarks).join(' ')}\npeers: ${[...new Set(known)].join(', ')}`);
    process.exit(2);
  }
  return {
    names: positionals.length > 0 ? positionals : Object.keys(benchmarks),
    options: { ...values, peers: chosen },
  };
}
