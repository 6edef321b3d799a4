import { differences, valuesIn } from './differences.js';
import { reference, ways } from './ways.js';

/** @typedef {{ record?: object, failed?: string, leftOut?: string }} Outcome of one application in one way */

/**
 * Compares what an application gave in each way with the reference.
 * @param {Record<string, Outcome>} outcomes by way
 * @returns {{ cells: string[], details: string[], failures: number }} a cell for each way, and lines about what is wrong
 */
export function compare(outcomes) {
  const expected = outcomes[reference].record;
  const details = [];
  let failures = 0;
  const failed = (cell, ...lines) => {
    failures++;
    details.push(...lines);
    return cell;
  };
  const cells = Object.entries(outcomes).map(([way, outcome]) => {
    if (outcome.leftOut) return outcome.leftOut;
    if (outcome.failed) return failed('failed', `  ${way}: ${outcome.failed}`);
    if (way === reference) return `${valuesIn(outcome.record)} values`;
    if (!expected) return 'not compared';
    const found = differences(comparable(expected, way), outcome.record);
    if (found.length === 0) return 'equal';
    return failed(`differs in ${found.length}`, ...found.map((line) => `  ${way}: ${line}`));
  });
  return { cells, details, failures };
}

/** With several workers, the output is that of all of them, and `inOneProcess` is what one process alone can do. */
function comparable({ visit, ...printed }, way) {
  if (!ways[way].hasWorkers) return { visit, ...printed };
  if (!visit?.inOneProcess) return { visit };
  const { inOneProcess: _, ...others } = visit;
  return { visit: others };
}
