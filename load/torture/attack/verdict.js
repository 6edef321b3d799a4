/**
 * What every attack must stay within.
 * @typedef {object} Bounds
 * @property {number} same longest wait in ms of a client on the worker that is attacked
 * @property {number} other longest wait in ms of a client on another worker
 * @property {number} post longest wait in ms for the acknowledgement of another user's message, on any worker
 * @property {number} memory resident memory of a worker above its idle level, in MB
 * @property {number} redis memory of Redis above its idle level, in MB
 * @property {number} [disk] growth of the data folder, in MB
 */

/** @type {Bounds} */
export const BOUNDS = { same: 500, other: 100, post: 500, memory: 300, redis: 300 };

/** A probe whose own timer was later than this, in ms, says more about the machine than about the server. */
const MAX_LAG_MS = 50;
/** The same where programs that are no part of the attack took more than this, in cores. */
const MAX_PROGRAMS = 0.3;

/**
 * What one attack cost, and what it did to others.
 * @typedef {object} Row
 * @property {{ bytes: number, connections: number, cpu: number }} spent by the attacker
 * @property {{ cpu: number, memory: number, disk: number, deaths: number, redis?: number }} server CPU seconds, MB above idle, MB, workers
 * @property {{ same: number, other: number, post: number, lost: number, lag: number }} others waits in ms, connections lost,
 *   and how late the probes themselves were
 * @property {number} [programs] cores that other programs took
 */

/**
 * The musts that a row misses, in words.
 * @param {Row} row
 * @param {Partial<Bounds>} [own] bounds of this attack alone
 * @returns {string[]}
 */
export function faultsOf({ server, others }, own = {}) {
  const { same, other, post, memory, redis, disk = Number.POSITIVE_INFINITY } = { ...BOUNDS, ...own };
  const above = (what, value, bound, unit) => (value <= bound ? [] : [`${what} ${value} > ${bound} ${unit}`]);
  return [
    ...above('workers died:', server.deaths, 0, ''),
    ...above('connections of others lost:', others.lost, 0, ''),
    ...above('same worker', others.same, same, 'ms'),
    ...above('other worker', others.other, other, 'ms'),
    ...above('acknowledgement', others.post, post, 'ms'),
    ...above('memory', server.memory, memory, 'MB'),
    ...above('memory of Redis', server.redis ?? 0, redis, 'MB'),
    ...above('disk', server.disk, disk, 'MB'),
  ].map((fault) => fault.trimEnd());
}

/** Whether the machine was too busy for the waits to mean anything. @param {Row} row */
export function isNoisy({ others, programs = 0 }) {
  return others.lag > MAX_LAG_MS || programs > MAX_PROGRAMS;
}
