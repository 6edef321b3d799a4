// The benchmarks: `npm run bench -- [name…] [--quick] [--peers a,b] [--out file]`. See README.md beside this file.

import { parseArgs } from 'node:util';
import { printTable, record } from './harness/results.js';
import { runRow } from './harness/run.js';
import broadcast, { windows } from './workloads/broadcast.js';
import connect from './workloads/connect.js';
import echo from './workloads/echo.js';
import idle from './workloads/idle.js';
import marketdata from './workloads/marketdata.js';

const workloads = { connect, echo, idle, broadcast, windows, marketdata };
const peers = ['socketio-ws', 'socketio-uws', 'uws', 'gjallar'];
/** Peers that run only when asked for by name. */
const more = ['socketio-ws-tuned', 'uws-deferred'];

const { names, options } = readArguments();
let failures = 0;
for (const name of names) {
  const workload = workloads[name];
  console.log(`\n${name}: ${workload.about}`);
  const saturated = new Map();
  for (const cell of workload.cells(options.quick)) await runCell(name, workload, cell, saturated);
}
process.exitCode = failures > 0 ? 1 : 0;

/** Runs all peers through one cell, one after the other, so that what is compared was measured within a minute. */
async function runCell(name, workload, cell, saturated) {
  console.log(`\n ${cell.label}`);
  const rows = [];
  for (const peer of options.peers) {
    progress(`${peer} …`);
    const row = saturated.has(peer)
      ? { peer, note: `not run: saturated at ${saturated.get(peer)}` }
      : await runRow(workload, cell, peer, options.quick);
    if (row.failed) failures++;
    if (row.result?.saturated) saturated.set(peer, cell.short ?? cell.label);
    record(options.out, { workload: name, cell: cell.label, quick: options.quick, ...row });
    rows.push(row);
  }
  progress('');
  printTable(workload.columns, rows);
}

function progress(text) {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K  ${text}${text ? '' : '\r'}`);
}

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      peers: { type: 'string', default: peers.join(',') },
      out: { type: 'string', default: new URL('results/results.jsonl', import.meta.url).pathname },
    },
  });
  const chosen = values.peers.split(',');
  const unknown = [
    ...positionals.filter((name) => !Object.hasOwn(workloads, name)),
    ...chosen.filter((peer) => ![...peers, ...more].includes(peer)),
  ];
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(', ')}`);
    console.error(`workloads: ${Object.keys(workloads).join(' ')}\npeers: ${[...peers, ...more].join(' ')}`);
    process.exit(2);
  }
  return {
    names: positionals.length > 0 ? positionals : Object.keys(workloads),
    options: { ...values, peers: chosen },
  };
}
