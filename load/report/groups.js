import { identity } from './rows.js';

/** Fewer runs than this say little of the spread. */
export const ENOUGH_RUNS = 3;

/**
 * All runs of one peer in one cell.
 * @typedef {{
 *   benchmark: string, cell: string, peer: string,
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
  for (const row of rows) {
    const key = identity(row);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return [...groups.values()].map(toGroup);
}

function toGroup(rows) {
  const { benchmark, cell, peer, parameters = {} } = rows.at(-1);
  const measured = rows.filter(({ result }) => result);
  const valid = measured.filter((row) => row.valid);
  const counted = valid.length > 0 ? valid : measured;
  return {
    benchmark,
    cell,
    peer,
    parameters,
    results: counted.map(({ result }) => result),
    valid: valid.length > 0,
    runs: valid.length,
    quick: counted.some(({ quick }) => quick),
    notes: notesOf(rows, valid.length),
  };
}

/** What has to be known of a group's runs. Remarks that differ in their figures alone are told once, at their worst. */
function notesOf(rows, valid) {
  const worst = new Map();
  const faults = [];
  for (const { note } of rows) {
    for (const remark of note?.split('; ') ?? []) {
      const kind = remark.replace(/[\d.,]+/g, '#');
      if (remark.startsWith('INVALID') || remark.startsWith('failed')) faults.push(remark);
      else if (remark !== '' && !(worst.get(kind) > remark)) worst.set(kind, remark);
    }
  }
  const unfinished = rows.some(({ result }) => result?.completed === false) ? ['did not complete'] : [];
  const quick = rows.some((row) => row.quick) ? ['a quick run'] : [];
  // Beside runs that are valid, the others are left out, and counted.
  const told = valid === 0 ? [...new Set(faults)] : faults.map((fault) => `1 run left out: ${fault}`);
  return [...told, ...worst.values(), ...unfinished, ...quick];
}

/**
 * The median and the extremes of a figure over a group's runs; undefined where no run has it.
 * @returns {{ median: number, min: number, max: number } | undefined}
 */
export function spread({ results }, key) {
  const values = results.map((result) => result[key]).filter((value) => Number.isFinite(value));
  if (values.length === 0) return undefined;
  values.sort((a, b) => a - b);
  return { median: medianOf(values), min: values[0], max: values.at(-1) };
}

function medianOf(sorted) {
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * The group of the same cell that a peer is compared with: ours of the same kind, `gjallar-nodes-2` for
 * `socketio-nodes-2`; else the first of ours; else the first of all.
 * @param {Group} group
 * @param {Group[]} cell all groups of its cell
 */
export function reference(group, cell) {
  const [brand] = group.peer.split('-', 1);
  const kind = brand === 'gjallar' ? undefined : `gjallar${group.peer.slice(brand.length)}`;
  const first = cell.find(({ peer }) => peer.startsWith('gjallar'));
  return cell.find(({ peer }) => peer === kind) ?? first ?? cell[0];
}

/**
 * How many times the reference's figure a group's is: the median divided by the reference's median, as a reader would
 * divide the figures in the table. Undefined where either does not count, which a latency does not either where the server
 * was saturated: it grows as long as the run lasts.
 * @param {{ key: string, title: string }} column
 */
export function ratio(group, other, { key, title }) {
  if (!group.valid || !other.valid) return undefined;
  if (title.endsWith(' ms') && (isSaturated(group) || isSaturated(other))) return undefined;
  const value = spread(group, key)?.median / spread(other, key)?.median;
  return value > 0 && Number.isFinite(value) ? value : undefined;
}

/** Whether the server could not keep up in any of the runs. */
export const isSaturated = ({ results }) => results.some(({ saturated }) => saturated);
