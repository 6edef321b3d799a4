import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { benchmarks } from '../benchmarks/index.js';
import { build, root } from '../harness/older.js';
import { record, tableOf } from '../harness/results.js';
import { runRow } from '../harness/row/run.js';
import { bases } from '../peers/index.js';
import { spreadOf } from '../report/groups.js';
import { figures } from './figures.js';

const STOCK = 'socketio-ws';

/** What is printed of a figure, with the ratios to the first row: the other commit, or stock socket.io. */
const columns = [
  { key: 'min', title: 'least', digits: 2, ratio: true },
  { key: 'median', title: 'median', digits: 2, ratio: true },
  { key: 'max', title: 'most', digits: 2 },
  { key: 'runs', title: 'valid runs', digits: 0 },
];

/**
 * Compares this checkout with stock socket.io and, if one is given, with another commit: they run in turns, so that what the
 * machine does meanwhile meets all of them. The least of all rounds is the figure that other programs disturb least.
 * @param {{ names: string[], against?: string, base: string, rounds: number, quick: boolean, out: string }} options `names` of
 *   figures; `against` is the hash of a commit; `base` is one of `bases` of the peers
 * @returns {Promise<number>} how many rows failed
 */
export async function runAgainst({ names, against, base, rounds, quick, out }) {
  const now = bases[base];
  const short = against?.slice(0, 9);
  if (against) console.log(`building ${short} …`);
  const before = against && { name: `${now}@${short}`, root: buildAt(against) };
  let failures = 0;
  for (const { benchmark, cell, keys } of runsOf(names)) {
    console.log(`\n${benchmark.name}: ${cell.label}, ${rounds} rounds`);
    const { [STOCK]: stock, [now]: ours } = benchmark.peers ?? { [STOCK]: {}, [now]: { like: now } };
    const peers = { ...(before && { [before.name]: { ...ours, root: before.root } }), [STOCK]: stock, [now]: ours };
    const runs = Object.fromEntries(Object.keys(peers).map((peer) => [peer, []]));
    for (let round = 0; round < rounds; round++) {
      for (const peer of turn(Object.keys(peers), round)) {
        const row = await runRow({ ...benchmark, peers }, cell, peer, quick);
        if (row.failed) failures++;
        record(out, { benchmark: benchmark.name, cell: cell.label, round, against: short, quick, ...row });
        if (row.valid) runs[peer].push(row.result);
        else console.log(`  ${peer}, round ${round + 1}: ${row.note}`);
      }
    }
    for (const name of keys) {
      const { key, about, unit } = figures[name];
      const spread = (peer) => ({ ...spreadOf(runs[peer].map((result) => result[key])), runs: runs[peer].length });
      console.log(` ${name}: ${about}, in ${unit}`);
      const print = tableOf(columns, Object.keys(peers));
      for (const peer of Object.keys(peers)) print({ peer, result: spread(peer) });
    }
  }
  return failures;
}

/**
 * Builds the commit. The peers and generators in its folder are today's, so that both versions run the same application;
 * they need what `gjallar compare` measures processes with, and what starts servers.
 * @returns {string} the folder
 */
function buildAt(commit) {
  const folder = build(commit);
  rmSync(join(folder, 'load'), { recursive: true, force: true });
  const filter = (path) => !/\/(node_modules|results|target|artillery)$/.test(path);
  for (const part of ['load', 'compare/dist', 'test/support'])
    cpSync(join(root, part), join(folder, part), { recursive: true, filter });
  return folder;
}

/** What is first in a round is last in the next one: a machine that heats up or cools down favours none. */
const turn = (peers, round) => (round % 2 === 0 ? peers : [...peers].reverse());

/** The cells to run, each once, with the figures that are read from it. */
function runsOf(names) {
  const runs = new Map();
  for (const name of names) {
    const { benchmark, cell: label } = figures[name];
    const key = `${benchmark}: ${label}`;
    const cell = benchmarks[benchmark].cells(false).find((each) => each.label === label);
    if (!runs.has(key)) runs.set(key, { benchmark: { name: benchmark, ...benchmarks[benchmark] }, cell, keys: [] });
    runs.get(key).keys.push(name);
  }
  return [...runs.values()];
}
