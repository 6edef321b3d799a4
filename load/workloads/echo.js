import { measure } from '../harness/measure.js';
import { keptUp } from '../harness/verdict.js';

const CLIENTS = 200;

/**
 * Clients send a text and get it back. The rate is the same for every peer, and low enough for all of them: cost per
 * message falls with the load, so peers that each ran at their own limit could not be compared.
 */
async function run({ peer, fleet, cell, quick }) {
  const clients = await fleet.group(CLIENTS);
  await clients.open();
  await clients.begin('echo', { event: 'echo', size: cell.size, perSecond: cell.perSecond });
  const measured = await measure({ peer, fleet, warmUp: quick ? 2 : 4, window: quick ? 5 : 15 });

  const [{ perSecond, total, latency }] = measured.groups;
  return {
    cpuPerMessage: (measured.server * 1e6) / perSecond.received,
    perSecond: perSecond.received,
    average: latency.mean,
    p99: latency.percentile(0.99),
    server: measured.server * 100,
    generatorCpu: measured.generators.busiest * 100,
    late: total.late,
    errors: total.errors,
    ended: total.ended,
    ...keptUp(cell.perSecond, perSecond.received, measured.server),
    generators: measured.generators,
    others: measured.others,
  };
}

export default {
  about: `texts sent back by the server, ${CLIENTS} clients, one message in flight each at most`,
  cells: () => [
    { label: '30 bytes, 10,000/s', size: 30, perSecond: 10_000 },
    { label: '4 bytes, 10,000/s', size: 4, perSecond: 10_000 },
    { label: '4 bytes, 897/s (document 3)', size: 4, perSecond: 897 },
  ],
  columns: [
    { key: 'cpuPerMessage', title: 'CPU µs/message', ratio: true },
    { key: 'perSecond', title: 'messages/s', digits: 0 },
    { key: 'average', title: 'average ms', digits: 2, ratio: true },
    { key: 'p99', title: 'p99 ms', digits: 2 },
    { key: 'server', title: 'server %', digits: 0 },
    { key: 'generatorCpu', title: 'generator %', digits: 0 },
  ],
  run,
};
