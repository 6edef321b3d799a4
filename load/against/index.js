import { benchmarks } from '../benchmarks/index.js';
import { UsageError } from '../harness/command.js';
import { provenance } from '../harness/provenance.js';
import { record } from '../harness/results.js';
import { runRow } from '../harness/row/run.js';
import { buildAt } from './build.js';
import { figures } from './figures.js';
import { readRatchet, tighten, writeRatchet } from './ratchet.js';
import { compared, lineOf } from './table.js';

const STOCK = 'socketio-ws';
const NOW = 'gjallar';

/**
 * Compares this checkout with another commit: stock socket.io, that commit and this checkout run in turns, so that what
 * the machine does meanwhile meets all three. The least of all rounds is the figure that other programs disturb least.
 * @param {{ names: string[], against: string, rounds: number, quick: boolean, out: string }} options `names` of figures;
 *   `against` is the hash of a commit
 * @returns {Promise<number>} how many rows failed
 */
export async function runAgainst({ names, against, rounds, quick, out }) {
  const short = against.slice(0, 9);
  console.log(`building ${short} …`);
  const before = `gjallar@${short}`;
  const root = buildAt(against);
  let failures = 0;
  const measured = [];
  for (const { benchmark, cell, keys } of runsOf(names)) {
    console.log(`\n${benchmark.name}: ${cell.label}, ${rounds} rounds`);
    const { [STOCK]: stock, [NOW]: now } = benchmark.peers ?? { [STOCK]: {}, [NOW]: { like: NOW } };
    const peers = { [STOCK]: stock, [before]: { ...now, root }, [NOW]: now };
    const runs = Object.fromEntries(Object.keys(peers).map((peer) => [peer, []]));
    for (let round = 0; round < rounds; round++) {
      for (const peer of turn(Object.keys(peers), round)) {
        const row = await runRow({ ...benchmark, peers }, cell, peer, quick);
        if (row.failed) failures++;
        const told = { benchmark: benchmark.name, cell: cell.label, round, against: short, quick, ...row };
        record(out, told);
        if (row.valid) runs[peer].push(row.result);
        else console.log(`  ${peer}, round ${round + 1}: ${row.note}`);
      }
    }
    for (const name of keys) {
      const result = compared(runs, figures[name].key, { stock: STOCK, before, now: NOW });
      console.log(lineOf(name, figures[name], result, { stock: STOCK, before, now: NOW }));
      console.log(`  ${JSON.stringify({ against: short, figure: name, rounds, quick, ...result })}`);
      measured.push({ name, ratio: result.toStock, commit: provenance.commit, date: new Date().toISOString() });
    }
  }
  if (!quick) writeRatchet(tighten(readRatchet(), measured));
  return failures;
}

/** What is first in a round is last in the next one: a machine that heats up or cools down favours none. */
const turn = (peers, round) => (round % 2 === 0 ? peers : [...peers].reverse());

/** The cells to run, each once, with the figures that are read from it. */
function runsOf(names) {
  const runs = new Map();
  for (const name of names) {
    const { benchmark, cell: label } = figures[name];
    const cell = benchmarks[benchmark].cells(false).find((each) => each.label === label);
    if (!cell) throw new UsageError(`benchmark ${benchmark} has no cell "${label}"`);
    const key = `${benchmark}: ${label}`;
    if (!runs.has(key)) runs.set(key, { benchmark: { name: benchmark, ...benchmarks[benchmark] }, cell, keys: [] });
    runs.get(key).keys.push(name);
  }
  return [...runs.values()];
}
