import { readCosts } from '../results/costs.js';
import { markdownTable, shown } from './table.js';

/** Costs that an estimate needs, and what the page calls them. */
const wanted = {
  heartbeat: 'heartbeat: one for each client in 25 s',
  echo: 'message: one that is received and sent to one client',
  delivery: 'delivery: each further recipient, in a room with few messages',
  gathered: 'delivery in a room with 1,000 messages/s, for comparison',
  memory: 'memory of a connection, including the kernel’s for both of its ends',
};

/** The table of costs of docs/guide/sizing.md. @param {import('../results/groups.js').Group[]} groups */
export function sizingSection(groups) {
  const costs = known(groups);
  if (costs.length === 0) return 'Not measured.';
  return `${markdownTable(
    ['cost', 'measured', 'benchmark'],
    costs.map(({ name, unit, from, value }) => [
      wanted[name],
      unit === 'µs' ? `${shown(value * 1e6)} µs` : `${shown(value / 1000)} KB`,
      `\`${from}\``,
    ]),
    1,
  )}

These are the medians on the machines of [the benchmarks](../benchmarks/method.md), on one core.`;
}

/** The same for the form on the site. */
export const sizingCosts = (groups) =>
  `${JSON.stringify(Object.fromEntries(known(groups).map(({ name, value }) => [name, Number(value.toPrecision(3))])), null, 2)}\n`;

const known = (groups) => readCosts(groups).filter(({ name, value }) => name in wanted && value > 0);
