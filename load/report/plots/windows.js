import { encodings, heights, linearAxis, lines, logAxis, points } from './series.js';

/** What the longest window costs and saves, at several rates. */
export default {
  benchmark: 'windows',
  file: 'windows.svg',
  alt: 'CPU per delivery and average latency against FLUSH_MS, a line for each rate',
  draw(groups) {
    const found = groups.filter(({ benchmark }) => benchmark === 'windows');
    const where = ({ parameters: { perSecond, peer } }) => ({
      x: peer.flushMs,
      rate: `${perSecond.toLocaleString('en-US')} messages/s`,
    });
    const cost = points(found, 'cpuPerDelivery', where);
    const latency = points(found, 'average', where);
    if (cost.length === 0) return undefined;
    const rates = [...new Set(cost.map(({ rate }) => rate))];
    // Shades of the colour that is gjallar's everywhere.
    const shades = ['#f5a97f', '#e8590c', '#b5450c'];
    const shared = { x: linearAxis('FLUSH_MS'), colours: encodings('rate', rates, shades, [0, 1, 2]) };
    return {
      title: 'CPU and latency by FLUSH_MS, 1,000 subscribers',
      hconcat: [
        lines({ values: cost, y: logAxis('CPU µs/delivery', heights(cost)), ...shared }),
        lines({ values: latency, y: logAxis('average, ms', heights(latency)), ...shared }),
      ],
    };
  },
};
