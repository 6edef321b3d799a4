import { measure, usageOf } from '../harness/row/measure.js';
import { keptUp } from '../harness/row/verdict.js';
import { latencyOf } from './columns.js';

/**
 * Clients send, and the server answers each of them. `offered` is how many answers a second that makes.
 * @param {{ peer: object, fleet: object, clients: number, role: string, options: object, offered: number,
 *   warmUp: number, window: number }} row
 */
export async function runExchange({ peer, fleet, clients, role, options, offered, warmUp, window }) {
  const group = await fleet.group(clients);
  await group.open();
  await group.begin(role, options);
  return measureExchange({ peer, fleet, offered, warmUp, window });
}

/** Measures what `runExchange` has begun. */
export async function measureExchange({ peer, fleet, offered, warmUp, window }) {
  const measured = await measure({ peer, fleet, warmUp, window });
  const [{ perSecond, total, latency }] = measured.groups;
  return {
    cpuPerMessage: (measured.server * 1e6) / perSecond.received,
    perSecond: perSecond.received,
    received: total.received,
    ...latencyOf(latency),
    late: total.late,
    errors: total.errors,
    ended: total.ended,
    ...keptUp(offered, perSecond.received, measured.server),
    ...usageOf(measured),
    window,
  };
}

export const exchangeColumns = [
  { key: 'cpuPerMessage', title: 'CPU µs/message', ratio: true },
  { key: 'perSecond', title: 'messages/s', digits: 0 },
  { key: 'average', title: 'average ms', digits: 2, ratio: true },
  { key: 'p99', title: 'p99 ms', digits: 2 },
  { key: 'server', title: 'server %', digits: 0 },
  { key: 'rss', title: 'RSS MiB', digits: 0 },
  { key: 'generatorCpu', title: 'generator %', digits: 0 },
];
