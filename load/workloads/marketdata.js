import { measure } from '../harness/measure.js';
import { keptUp } from '../harness/verdict.js';

const MESSAGES = 10;

/** Document 3: each client sends a heartbeat a second and is answered with ten messages of 10,000 bytes, all checked. */
async function run({ peer, fleet, cell, quick }) {
  const clients = await fleet.group(cell.clients);
  await clients.open();
  await clients.begin('heartbeat', {});
  const measured = await measure({ peer, fleet, warmUp: quick ? 3 : 5, window: quick ? 5 : 15 });

  const [{ perSecond, total, latency }] = measured.groups;
  return {
    cpuPerMessage: (measured.server * 1e6) / perSecond.received,
    perSecond: perSecond.received,
    average: latency.mean,
    p99: latency.percentile(0.99),
    server: measured.server * 100,
    generatorCpu: measured.generators.busiest * 100,
    rss: measured.rss / 2 ** 20,
    late: total.late,
    errors: total.errors,
    ended: total.ended,
    ...keptUp(cell.clients * MESSAGES, perSecond.received, measured.server),
    generators: measured.generators,
    others: measured.others,
  };
}

export default {
  about: 'each client sends a heartbeat a second, answered with 10 messages of 10,000 bytes',
  cells: () => [1000, 3000].map((clients) => ({ label: `${clients.toLocaleString('en-US')} clients`, clients })),
  columns: [
    { key: 'cpuPerMessage', title: 'CPU µs/message', ratio: true },
    { key: 'perSecond', title: 'messages/s', digits: 0 },
    { key: 'average', title: 'average ms', digits: 2, ratio: true },
    { key: 'p99', title: 'p99 ms', digits: 2 },
    { key: 'server', title: 'server %', digits: 0 },
    { key: 'rss', title: 'RSS MiB', digits: 0 },
    { key: 'generatorCpu', title: 'generator %', digits: 0 },
  ],
  run,
};
