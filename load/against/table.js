import { spreadOf } from '../report/groups.js';

/**
 * One figure of all peers, with the ratios of this checkout to the other commit and to stock.
 * @param {Record<string, object[]>} runs the valid results by peer
 * @param {string} key
 * @param {{ stock: string, before: string, now: string }} peers
 */
export function compared(runs, key, peers) {
  const of = (peer) => ({ ...spreadOf(runs[peer].map((result) => result[key])), runs: runs[peer].length });
  const [stock, before, now] = [of(peers.stock), of(peers.before), of(peers.now)];
  return {
    ...{ stock, before, now },
    least: now.min / before.min,
    medians: now.median / before.median,
    toStock: now.min / stock.min,
    beforeToStock: before.min / stock.min,
  };
}

export function lineOf(name, { about, unit }, result, peers) {
  const rows = Object.entries(peers).map(([key, peer]) => {
    const { min, median, max, runs } = result[key];
    return `  ${peer.padEnd(20)} least ${shown(min)}  median ${shown(median)}  most ${shown(max)} ${unit}, ${runs} valid runs`;
  });
  const { least, medians, toStock, beforeToStock } = result;
  return [
    ` ${name} (${about}): ${shown(least)} of ${peers.before} by the least, ${shown(medians)} by the medians; ${shown(toStock)} of stock, which it was ${shown(beforeToStock)} of`,
    ...rows,
  ].join('\n');
}

const shown = (value) => (value === undefined || Number.isNaN(value) ? '–' : String(Number(value.toPrecision(3))));
