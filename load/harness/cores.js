import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

// The server has core 0 to itself and the generators share the others, so that they cannot take each other's time and
// a saturated server is saturated at exactly one core.
const cores = availableParallelism();
const pinning = cores > 1 && spawnSync('taskset', ['--version']).status === 0;

export const serverCore = pinning ? 0 : null;

/** @param {number} index of the generator process */
export const generatorCore = (index) => (pinning ? 1 + (index % (cores - 1)) : null);

/** The command line that runs Node on a core, or anywhere when `core` is null. */
export function nodeOn(core, args) {
  const node = [process.execPath, ...args];
  return core === null ? node : ['taskset', '-c', String(core), ...node];
}

/** For the record of a result. */
export const placement = { cores, pinned: pinning };
