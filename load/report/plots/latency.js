import { heights, lines, logAxis, peerEncodings, points, SATURATED } from './series.js';

/** Latency of the broadcasts to 1,000 subscribers against their rate. */
export default {
  benchmark: 'broadcast',
  file: 'latency.svg',
  alt: 'Latency against offered deliveries a second, average and 99th percentile, a line for each peer',
  draw(groups) {
    const rates = groups.filter(
      ({ benchmark, parameters: { subscribers, publishers, perSecond } }) =>
        benchmark === 'broadcast' && subscribers === 1000 && publishers === 10 && perSecond,
    );
    const where = ({ parameters: { subscribers, perSecond } }) => ({ x: subscribers * perSecond });
    const average = points(rates, 'average', where);
    const p99 = points(rates, 'p99', where);
    if (average.length === 0) return undefined;
    const offered = average.map(({ x }) => x);
    const shared = { x: logAxis('deliveries/s offered', offered), colours: peerEncodings(average) };
    return {
      title: { text: 'Latency against load, 1,000 subscribers', subtitle: SATURATED },
      hconcat: [
        lines({ values: average, y: logAxis('average, ms', heights(average)), ...shared }),
        lines({ values: p99, y: logAxis('99th percentile, ms', heights(p99)), ...shared }),
      ],
    };
  },
};
