import { exchangeColumns, runExchange } from './exchange.js';

const CLIENTS = 200;

/**
 * Clients send a text and get it back. The rate is the same for every peer, and low enough for all of them: cost per
 * message falls with the load, so peers that each ran at their own limit could not be compared.
 */
const run = ({ peer, fleet, cell: { size, perSecond }, quick }) =>
  runExchange({
    peer,
    fleet,
    clients: CLIENTS,
    role: 'echo',
    options: { event: 'echo', size, perSecond },
    offered: perSecond,
    warmUp: quick ? 2 : 4,
    window: quick ? 5 : 15,
  });

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
  run,
};
