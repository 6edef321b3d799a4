import { runWrk } from '../../harness/row/wrk.js';
import { latencyColumns } from '../columns.js';

/** Workload 1 over HTTP: wrk, 6 threads, 10,000 connections. All servers answer with the same body. */
export default {
  about: 'requests of wrk with 6 threads over keep-alive connections; all servers send the same responses',
  peers: {
    'http-node': {},
    'http-uws': {},
    'gjallar-service': { program: 'gjallar-nodes' },
  },
  cells: (quick) =>
    [
      { label: '10,000 connections, an answer of 12 bytes', path: '/healthz', connections: 10_000 },
      { label: '10,000 connections, the demo page', path: '/', connections: 10_000 },
      { label: '100 connections, an answer of 12 bytes', path: '/healthz', connections: 100 },
    ].slice(0, quick ? 1 : 3),
  columns: [
    { key: 'perSecond', title: 'requests/s', digits: 0, ratio: true },
    { key: 'cpuPerRequest', title: 'CPU µs/request', ratio: true },
    ...latencyColumns,
    { key: 'refused', title: 'refused', digits: 0 },
    { key: 'server', title: 'server %', digits: 0 },
    { key: 'generatorCpu', title: 'wrk %', digits: 0 },
  ],
  run: ({ peer, cell, quick }) => runWrk(peer, { ...cell, seconds: quick ? 5 : 20 }),
};
