/**
 * What every attack must stay within: the longest wait in ms of a client on the worker that is attacked, of one on another
 * worker, and for the acknowledgement of another user's message; resident memory above idle of a worker, and of Redis, and
 * growth of the data folder, in MB.
 * @typedef {{ same: number, other: number, post: number, memory: number, redis: number, disk?: number }} Bounds
 * @type {Bounds}
 */
export const BOUNDS = { same: 500, other: 100, post: 500, memory: 300, redis: 300 };

/** Above these, in ms and in cores, the machine was too busy for the waits to mean anything. */
const MAX_LAG_MS = 50;
const MAX_PROGRAMS = 0.3;

/** The musts that a row misses, in words. @param {Partial<Bounds>} [own] bounds of this attack alone */
export function faultsOf({ server, others }, own = {}) {
  const { deaths, memory, redis = 0, disk } = server;
  const { lost, same, other, post } = others;
  const values = { deaths, lost, same, other, post, memory, redis, disk };
  const bounds = { deaths: 0, lost: 0, ...BOUNDS, ...own };
  return Object.entries(bounds).flatMap(([name, most]) =>
    values[name] <= most ? [] : `${name} ${values[name]} > ${most}`,
  );
}

export const isNoisy = ({ others, programs }) => others.lag > MAX_LAG_MS || programs > MAX_PROGRAMS;
