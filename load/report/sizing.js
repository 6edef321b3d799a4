import { spread } from './groups.js';
import { markdownTable, shown } from './tables.js';

const room = (rate) => (p) => p.subscribers === 1000 && p.publishers === 10 && p.perSecond === rate;

/** The costs that an estimate needs: what the page calls them, and the figure that they come from, in µs or bytes. */
const costs = {
  heartbeat: { about: 'heartbeat: one for each client in 25 s', benchmark: 'idle', keys: ['cpuPerHeartbeat'] },
  echo: {
    about: 'message: one that is received and sent to one client',
    ...{ benchmark: 'echo', keys: ['cpuPerMessage'], matches: (p) => p.size === 30 },
  },
  delivery: {
    about: 'delivery: each further recipient, in a room with few messages',
    ...{ benchmark: 'broadcast', keys: ['cpuPerDelivery'], matches: room(40) },
  },
  gathered: {
    about: 'delivery in a room with 1,000 messages/s, for comparison',
    ...{ benchmark: 'broadcast', keys: ['cpuPerDelivery'], matches: room(1000) },
  },
  memory: {
    about: 'memory of a connection, including the kernel’s for both of its ends',
    ...{ benchmark: 'connections', peer: 'gjallar-cluster', keys: ['serverPerClient', 'kernelPerClient'] },
    matches: (p) => p.clients === 1_000_000 && p.every > 25_000,
  },
};

/** @param {import('./groups.js').Group[]} groups @returns {{ name: string, value: number }[]} seconds, or bytes */
function measured(groups) {
  return Object.entries(costs).flatMap(([name, { benchmark, peer = 'gjallar', keys, matches = () => true }]) => {
    const group = groups.find(
      (one) => one.valid && one.benchmark === benchmark && one.peer === peer && matches(one.parameters),
    );
    if (!group) return [];
    const value = keys.reduce((sum, key) => sum + spread(group, key).median, 0);
    return [{ name, value: name === 'memory' ? value : value / 1e6 }];
  });
}

/** The table of costs of docs/guide/sizing.md. */
export function sizingSection(groups) {
  const rows = measured(groups).map(({ name, value }) => [
    costs[name].about,
    name === 'memory' ? `${shown(value / 1000)} KB` : `${shown(value * 1e6)} µs`,
    `\`${costs[name].benchmark}\``,
  ]);
  return `${markdownTable(['cost', 'measured', 'benchmark'], rows)}

These are the medians on the machines of [the benchmarks](../benchmarks.md#machines-and-commands), on one core.`;
}

/** The same for the form on the site. */
export const sizingCosts = (groups) =>
  `${JSON.stringify(Object.fromEntries(measured(groups).map(({ name, value }) => [name, Number(value.toPrecision(3))])), null, 2)}\n`;
