import { spread } from '../results/groups.js';
import { heights, lines, logAxis, peerEncodings, points } from './series.js';

/** Memory against connections: all that the machine has less of, and what of it is the server's. */
export default {
  benchmark: 'connections',
  file: 'memory.svg',
  alt: 'Memory of the machine and of the server against connections, a line for each peer',
  draw(groups) {
    const found = groups.filter(({ benchmark, valid }) => benchmark === 'connections' && valid);
    const connected = (group) => spread(group, 'clients')?.median ?? Number.NaN;
    const where = (group) => ({ x: connected(group) });
    const machine = points(found, 'bytesPerClient', where).map(inTotal);
    const server = points(found, 'serverPerClient', where);
    if (server.length === 0) return undefined;
    const x = logAxis(
      'connections',
      server.map((point) => point.x),
    );
    const shared = { x, colours: peerEncodings(server) };
    return {
      title: 'Memory against connections',
      hconcat: [
        lines({
          values: machine,
          title: 'server, clients and kernel together',
          y: logAxis('GiB', heights(machine)),
          ...shared,
        }),
        lines({ values: server, title: 'the server', y: logAxis('bytes/connection', heights(server)), ...shared }),
      ],
    };
  },
};

const inTotal = (point) => {
  const gibibytes = (bytes) => (bytes * point.x) / 2 ** 30;
  return { ...point, y: gibibytes(point.y), low: gibibytes(point.low), high: gibibytes(point.high) };
};
