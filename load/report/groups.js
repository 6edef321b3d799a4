import { readFileSync } from 'node:fs';
import { FULL } from '../harness/row/verdict.js';

/** Fewer runs than this say little of the spread. */
export const ENOUGH_RUNS = 3;

/** The rows of files that the benchmarks wrote, in their order. Throws where a line is not one. */
export function readRows(files) {
  return files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, i) => (line.trim() === '' ? [] : [parse(line, `${file}:${i + 1}`)])),
  );
}

function parse(line, where) {
  let row;
  try {
    row = JSON.parse(line);
  } catch {
    throw new Error(`${where}: not JSON`);
  }
  const lacking = ['benchmark', 'cell', 'peer', 'date', 'command', 'machine'].find(
    (field) => row?.[field] === undefined,
  );
  if (lacking) throw new Error(`${where}: a result without "${lacking}"; was it written by an older version?`);
  return row;
}

/** The major version of Node.js that a row ran on. */
const nodeOf = ({ versions }) => Number(versions?.node?.split('.')[0] ?? 0);

/** What rows that are runs of the same thing have in common. */
const identity = ({ benchmark, cell, peer, ...row }) => JSON.stringify([benchmark, cell, peer, nodeOf(row)]);

/**
 * Those rows that the report uses. A quick run counts only where there is no full one of the same cell and peer. A run of
 * changed files counts never, as nobody could measure it again.
 */
export function usedRows(rows) {
  const committed = rows.filter(({ commit }) => !commit?.endsWith('-dirty'));
  const full = new Set(committed.filter(({ quick }) => !quick).map(identity));
  return committed.filter((row) => !row.quick || !full.has(identity(row)));
}

/**
 * All runs of one peer in one cell.
 * @typedef {{
 *   benchmark: string, cell: string, peer: string, node: number,
 *   parameters: object, of the cell
 *   results: object[], of the runs that count: the valid ones, or, where there are none, the invalid ones
 *   valid: boolean, false where only invalid runs or none are there
 *   runs: number, that were valid
 *   quick: boolean, whether any of these was a quick one
 *   notes: string[],
 * }} Group
 */

/** @returns {Group[]} in the order of the first row of each */
export function groupRows(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(identity(row), [...(groups.get(identity(row)) ?? []), row]);
  return [...groups.values()].map(toGroup);
}

function toGroup(rows) {
  const { benchmark, cell, peer, parameters = {} } = rows.at(-1);
  const measured = rows.filter(({ result }) => result);
  const valid = measured.filter((row) => row.valid);
  const counted = valid.length > 0 ? valid : measured;
  return {
    ...{ benchmark, cell, peer, parameters, node: nodeOf(rows.at(-1)) },
    results: counted.map(({ result }) => result),
    valid: valid.length > 0,
    runs: valid.length,
    quick: counted.some(({ quick }) => quick),
    notes: notesOf(
      rows,
      counted.map(({ result }) => result),
      valid.length,
    ),
  };
}

/** What has to be known of a group's runs. Remarks that differ in their figures alone are told once, at their worst. */
function notesOf(rows, results, valid) {
  const worst = new Map();
  const faults = [];
  for (const remark of rows.flatMap(({ note }) => note?.split('; ') ?? [])) {
    const kind = remark.replace(/[\d.,]+/g, '#');
    if (remark.startsWith('INVALID') || remark.startsWith('failed')) faults.push(remark);
    else if (remark !== '' && !(worst.get(kind) > remark)) worst.set(kind, remark);
  }
  const unfinished = rows.some(({ result }) => result?.completed === false) ? ['did not complete'] : [];
  const quick = rows.some((row) => row.quick) ? ['a quick run'] : [];
  const full = isSaturated({ results }) && !worst.has('saturated') ? ['saturated'] : [];
  // Beside runs that are valid, the others are left out, and counted.
  const told = valid === 0 ? [...new Set(faults)] : faults.map((fault) => `1 run left out: ${fault}`);
  return [...told, ...full, ...worst.values(), ...unfinished, ...quick];
}

/** The median and the extremes of numbers. */
export function spreadOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1) };
}

/** The same of a figure over a group's runs; undefined where no run has it. */
export function spread({ results }, key) {
  const values = results.map((result) => result[key]).filter(Number.isFinite);
  return values.length === 0 ? undefined : spreadOf(values);
}

/**
 * The cells of a benchmark in its order, each once for each version of Node.js, the newest first; those that nobody has measured
 * are without groups.
 * @param {Group[]} groups
 * @param {string} name
 * @param {{ cells: (quick: boolean) => object[] }} benchmark
 * @returns {{ label: string, parameters: object, groups: Group[] }[]}
 */
export function cellsOf(groups, name, benchmark) {
  const own = groups.filter((group) => group.benchmark === name);
  const measured = own.map(({ cell, parameters }) => ({ label: cell, ...parameters }));
  const known = [...benchmark.cells(false), ...measured];
  const versions = [...new Set(own.map(({ node }) => node))].sort((a, b) => b - a);
  return [...new Map(known.map((cell) => [cell.label, cell])).values()].flatMap(({ label, ...parameters }) => {
    const found = versions.flatMap((node) => {
      const cell = own.filter((group) => group.cell === label && group.node === node);
      const named = node !== USUAL ? `${label} (Node ${node})` : label;
      return cell.length > 0 ? [{ label: named, parameters, groups: cell }] : [];
    });
    return found.length > 0 ? found : [{ label, parameters, groups: [] }];
  });
}

/** The version of Node.js that is not named. */
export const USUAL = 22;

/** Whether the server could not keep up in any of the runs of an open loop. Older runs did not judge by the core alone. */
export const isSaturated = ({ results }) =>
  results.some(({ saturated, server }) => saturated || (saturated === false && server >= FULL * 100));

/**
 * How many times the reference's figure a group's is: the median divided by the reference's median, as a reader would
 * divide the figures in the table. Undefined where either does not count, which a latency does not either where the server
 * was saturated: it grows as long as the run lasts.
 * @param {{ key: string, title: string }} column
 */
export function ratio(group, other, { key, title }) {
  if (title.endsWith(' ms') && (isSaturated(group) || isSaturated(other))) return undefined;
  return quotient(group, other, key);
}

/** The same, whether or not a server was saturated. */
export function quotient(group, other, key) {
  if (!group.valid || !other.valid) return undefined;
  const value = spread(group, key)?.median / spread(other, key)?.median;
  return value > 0 && Number.isFinite(value) ? value : undefined;
}

/**
 * The group of the same cell that a peer is compared with: gjallar with as many nodes or the same store, and of several
 * buses the default; else the library on native sockets; else the first of ours; else the first of all.
 * @param {Group} group
 * @param {Group[]} cell all groups of its cell
 */
export function reference({ peer }, cell) {
  const isOurs = (name) => name.includes('gjallar');
  const kind = peer.replace(/^(socketio(-ws|-uws)?|[^-]+)/, 'gjallar');
  const kinds = isOurs(peer) ? [] : [kind, `${kind}-frames`];
  const same = kinds.map((name) => cell.find((one) => one.peer === name)).find(Boolean);
  return same ?? cell.find(({ peer }) => peer === 'gjallar') ?? cell.find((one) => isOurs(one.peer)) ?? cell[0];
}
