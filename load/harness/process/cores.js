import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

// The server has core 0 to itself and the generators share the others, so that they cannot take each other's time and
// a saturated server is saturated at exactly one core.
const cores = availableParallelism();
const pinned = cores > 1 && spawnSync('taskset', ['--version']).status === 0;

/** For the record of a result. */
export const placement = { cores, pinned };

/**
 * The first cores, one for each process of the server, but at least one is left for the generators.
 * @param {number} [processes]
 * @returns {number[] | null} null for anywhere
 */
export const serverCores = (processes = 1) =>
  pinned ? Array.from({ length: Math.min(processes, cores - 1) }, (_, core) => core) : null;

/** The core of a generator. @param {number} index of the process @param {number[] | null} taken the server's cores */
export const generatorCore = (index, taken) => (pinned ? taken.length + (index % (cores - taken.length)) : null);

/** The command line that runs a program on a core or several, as taskset writes them, or anywhere when `core` is null. */
export const commandOn = (core, command) => (core === null ? command : ['taskset', '-c', String(core), ...command]);
