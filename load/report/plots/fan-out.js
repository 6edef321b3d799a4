import { heights, lines, logAxis, peerEncodings, points } from './series.js';

/** The rate at which rooms of all sizes are measured. */
const RATE = 100;

/** What a delivery costs: against the size of the room, and against the rate. */
export default {
  benchmark: 'fanout',
  file: 'fan-out.svg',
  alt: 'CPU per delivery, against deliveries per message and against the rate, a line for each peer',
  draw(groups) {
    const rooms = groups.filter(
      ({ benchmark, parameters: { subscribers, perSecond } }) =>
        ['broadcast', 'fanout'].includes(benchmark) && subscribers && perSecond,
    );
    const sizes = rooms.filter(({ parameters }) => parameters.perSecond === RATE);
    const rates = rooms.filter(({ parameters }) => parameters.subscribers === 1000 && parameters.publishers === 10);
    const bySize = points(sizes, 'cpuPerDelivery', ({ parameters }) => ({ x: parameters.subscribers }));
    const byRate = points(rates, 'cpuPerDelivery', ({ parameters }) => ({ x: parameters.perSecond }));
    if (bySize.length === 0 || byRate.length === 0) return undefined;
    const colours = peerEncodings([...bySize, ...byRate]);
    const panel = (values, title, x) =>
      lines({
        values,
        title,
        x: logAxis(
          x,
          values.map((value) => value.x),
        ),
        y: logAxis('CPU µs/delivery', heights(values)),
        colours,
      });
    return {
      title: 'CPU cost of a delivery',
      hconcat: [
        panel(bySize, `by room size, at ${RATE} messages/s`, 'deliveries per message'),
        panel(byRate, 'by rate, with 1,000 subscribers', 'messages/s'),
      ],
    };
  },
};
