import { curves, linearAxis, logAxis, peerEncodings } from './series.js';

/** What happens over time to a server some of whose clients read too slowly: the first run of each peer. */
export default {
  benchmark: 'backpressure',
  file: 'slow-clients.svg',
  alt: 'Deliveries to the fast clients and memory of the server over time, while others read too slowly, a line for each peer',
  draw(groups) {
    const slow = groups.filter(
      ({ benchmark, parameters, valid }) => benchmark === 'backpressure' && parameters.slow > 0 && valid,
    );
    const series = slow.map(({ peer, results: [{ series: read = [] }] }) => ({ peer, read }));
    const memory = series.flatMap(({ peer, read }) => read.map(({ seconds, rss }) => ({ peer, x: seconds, y: rss })));
    const rate = series.flatMap(({ peer, read }) => deliveries(read).map((point) => ({ peer, ...point })));
    if (memory.length === 0) return undefined;
    const shared = { x: linearAxis('seconds'), colours: peerEncodings(memory) };
    const subtitle = `${slow[0].parameters.slow} of 1,000 sleep 200 ms after each read of 8 KiB`;
    return {
      title: { text: 'Slow clients', subtitle },
      hconcat: [
        curves({ values: rate, y: linearAxis('deliveries/s to the fast'), ...shared }),
        curves({
          values: memory,
          y: logAxis(
            'memory of the server, MiB',
            memory.map(({ y }) => y),
          ),
          ...shared,
        }),
      ],
    };
  },
};

/** Deliveries a second since the point before. The last two may be too close to one another to tell. */
const deliveries = (read) =>
  read.slice(1).flatMap(({ seconds, received }, i) => {
    const elapsed = seconds - read[i].seconds;
    const delivered = received - read[i].received;
    return elapsed > 0.5 && delivered >= 0 ? [{ x: seconds, y: delivered / elapsed }] : [];
  });
