import { points } from '../plots/series.js';
import { markdownTable, shown } from './table.js';

/**
 * What the window costs and saves: one row for each rate, one column for each window.
 * @param {import('../results/groups.js').Group[]} groups
 */
export function windowsSection(groups) {
  const found = groups.filter(({ benchmark }) => benchmark === 'windows');
  const cells = found.map(({ parameters }) => parameters);
  if (cells.length === 0) return 'Not measured.';
  const rates = [...new Set(cells.map(({ perSecond }) => perSecond))];
  const windows = [...new Set(cells.map(({ peer }) => peer.flushMs))].sort((a, b) => a - b);
  const where = ({ parameters: { perSecond, peer } }) => ({ rate: perSecond, window: peer.flushMs });
  const cost = points(found, 'cpuPerDelivery', where);
  const latency = points(found, 'average', where);
  const at = (values, rate, window) => values.find((value) => value.rate === rate && value.window === window)?.y;
  const rows = rates.map((rate) => [
    `${shown(rate, 0)} messages/s`,
    ...windows.map((window) => pair(at(cost, rate, window), at(latency, rate, window))),
  ]);
  return `![CPU per delivery and average latency against FLUSH_MS](benchmarks/windows.svg)

CPU µs per delivery · average latency in ms, for 1,000 subscribers; [the results](benchmarks/rooms.md#windows) have the spread.

${markdownTable(['`FLUSH_MS`', ...windows.map(String)], rows)}`;
}

const pair = (cost, latency) => (cost === undefined ? '–' : `${shown(cost, 2)} · ${shown(latency, 1)}`);
