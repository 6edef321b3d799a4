import { measure, usageOf } from '../harness/row/measure.js';
import { keptUp } from '../harness/row/verdict.js';
import { latencyOf } from './columns.js';

/**
 * The one loop of all benchmarks whose clients are in generators: clients play, the row warms up, and a window is measured.
 *
 * @typedef {object} Row
 * @property {import('../harness/row/peer.js').Peer} peer
 * @property {import('../harness/row/fleet.js').Fleet} fleet
 * @property {object} cell of the benchmark; its `warmUp`, in seconds, goes first
 * @property {boolean} quick
 *
 * @typedef {object} Play
 * @property {[full: number, quick: number]} warmUp in seconds
 * @property {[full: number, quick: number]} window in seconds
 * @property {(row: Row) => Promise<unknown>} begin opens the clients and lets them play
 * @property {(measured: object, row: Row, played: unknown) => Figures} figures
 *
 * @typedef {object} Figures what a benchmark tells of a window; what stands beside these is a figure of its own
 * @property {number} [due] per second, and what of it was `achieved`, where clients send whatever the server does
 * @property {number} [achieved]
 * @property {object[]} [counted] the groups that may lose no connection, if not all; the first one's latencies and errors count
 */

/** @param {Play} play @returns {(row: Row) => Promise<object>} */
export function measured({ warmUp, window, begin, figures }) {
  return async (row) => {
    const { peer, fleet, cell, quick } = row;
    const played = await begin(row);
    const at = quick ? 1 : 0;
    const seen = await measure({ peer, fleet, warmUp: cell.warmUp ?? warmUp[at], window: window[at] });
    return resultOf(seen, row, await figures(seen, row, played));
  };
}

/** The result of a window. @param {object} window what `measure` tells @param {Figures} figures */
export function resultOf(window, { peer }, { due, achieved, counted = window.groups, ...figures }) {
  const [seen] = counted;
  return {
    ...figures,
    ...latencyOf(seen.latency),
    errors: seen.total.errors,
    ended: counted.reduce((sum, { total }) => sum + total.ended, 0),
    ...(achieved === undefined ? {} : keptUp(due, achieved, busyOf(window, peer), seen)),
    ...usageOf(window),
  };
}

/** CPU µs of the server for each of so many a second. */
export const cpuPer = ({ server }, perSecond) => (server * 1e6) / perSecond;

/** Where a broker shares the server's cores, its time is theirs too. */
function busyOf({ server, helpers = {} }, peer) {
  const broker = Object.values(helpers).reduce((sum, share) => sum + share, 0);
  return (server + broker) / (peer.cores?.length ?? 1);
}
