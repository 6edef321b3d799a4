/** @param {number[]} values */
export function spreadOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { least: sorted[0], median, most: sorted.at(-1), runs: sorted.length };
}

/**
 * One figure of all peers, with the ratios of this checkout to the other commit and to stock.
 * @param {Record<string, object[]>} runs the valid results by peer
 * @param {string} key
 * @param {{ stock: string, before: string, now: string }} peers
 */
export function compared(runs, key, { stock, before, now }) {
  const of = (peer) => spreadOf(runs[peer].map((result) => result[key]));
  const [s, b, n] = [of(stock), of(before), of(now)];
  return {
    stock: s,
    before: b,
    now: n,
    least: n.least / b.least,
    medians: n.median / b.median,
    toStock: n.least / s.least,
    beforeToStock: b.least / s.least,
  };
}

export function lineOf(name, { about, unit }, result, { stock, before, now }) {
  const row = (peer, { least, median, most, runs }) =>
    `  ${peer.padEnd(20)} least ${shown(least)}  median ${shown(median)}  most ${shown(most)} ${unit}, ${runs} valid runs`;
  return [
    ` ${name} (${about}): ${shown(result.least)} of ${before} by the least, ${shown(result.medians)} by the medians; ${shown(result.toStock)} of stock, which it was ${shown(result.beforeToStock)} of`,
    row(stock, result.stock),
    row(before, result.before),
    row(now, result.now),
  ].join('\n');
}

const shown = (value) => (value === undefined || Number.isNaN(value) ? '–' : String(Number(value.toPrecision(3))));
