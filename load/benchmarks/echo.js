import { latencyColumns } from './columns.js';
import { cpuPer, measured } from './measured.js';

const CLIENTS = 200;

/** What benchmarks tell in which clients send, and the server answers each of them. */
export const exchangeOf = (window, due) => {
  const [{ perSecond, total }] = window.groups;
  return {
    cpuPerMessage: cpuPer(window, perSecond.received),
    perSecond: perSecond.received,
    received: total.received,
    late: total.late,
    ...{ due, achieved: perSecond.received },
  };
};

export const exchangeColumns = [
  { key: 'cpuPerMessage', title: 'CPU µs/message', ratio: true },
  { key: 'perSecond', title: 'messages/s', digits: 0 },
  ...latencyColumns.map((column) => (column.key === 'average' ? { ...column, ratio: true } : column)),
  { key: 'server', title: 'server %', digits: 0 },
  { key: 'rss', title: 'RSS MiB', digits: 0 },
  { key: 'generatorCpu', title: 'generator %', digits: 0 },
];

/**
 * Clients send a text and get it back. The rate is the same for every peer, and low enough for all of them: cost per
 * message falls with the load, so peers that each ran at their own limit could not be compared.
 */
export default {
  also: ['ws-cluster', 'gorilla', 'netty', 'tungstenite'],
  about: `the server echoes texts of ${CLIENTS} clients, each with at most one message in flight`,
  cells: (quick) =>
    [
      { label: '30 bytes, 10,000/s', size: 30, perSecond: 10_000 },
      { label: '4 bytes, 10,000/s', size: 4, perSecond: 10_000 },
      { label: '4 bytes, 897/s (workload 3)', size: 4, perSecond: 897 },
    ].slice(0, quick ? 1 : 3),
  columns: exchangeColumns,
  run: measured({
    warmUp: [4, 2],
    window: [15, 5],
    async begin({ fleet, cell: { size, perSecond } }) {
      const clients = await fleet.group(CLIENTS);
      await clients.open();
      await clients.begin('echo', { event: 'echo', size, perSecond });
    },
    figures: (window, { cell }) => exchangeOf(window, cell.perSecond),
  }),
};
