import { markdownTable } from '../sections/table.js';
import { assumptions } from './assumptions.js';
import { demands } from './model.js';
import { count, fewestMachines, workloads } from './plans.js';

/** For how many users the table of changes is. */
export const MIDDLE = 10_000_000;

/** What is changed, one at a time; what the change does to the values of all parameters, and to the costs. */
const changes = {
  'as assumed': () => {},
  'twice the CPU cost': (_p, cost) => scaleCpu(cost, 2),
  'half the CPU cost': (_p, cost) => scaleCpu(cost, 0.5),
  'twice the memory per connection': (_p, cost) => {
    cost.memory *= 2;
  },
  'a network card of 100 Gbit/s': ({ machine }) => {
    machine.network *= 10;
  },
  'machines with 64 cores and 256 GiB': ({ machine }) => {
    machine.cores *= 4;
    machine.memory *= 4;
  },
  '80% planned utilization instead of 60%': ({ machine }) => {
    machine.headroom = 0.8;
  },
  'rooms of 100 members with 4 messages/s': ({ rooms }) => {
    rooms.members = 100;
    rooms.perSecond = 4;
  },
  'twice the message rate': (p) => {
    p.rooms.perSecond *= 2;
    p.market.perSecond *= 2;
    p.slow.perSecond *= 2;
    p.direct.interval /= 2;
    p.idle.interval /= 2;
  },
};

/** Parameters, costs and demands after a change. */
export function assume(costs, change) {
  const values = valuesOf(assumptions);
  const cost = Object.fromEntries(costs.map(({ name, value }) => [name, value]));
  change(values, cost);
  return { values, cost, demand: demands(values, cost) };
}

/** The same tree with the values alone. */
const valuesOf = (tree) =>
  'value' in tree
    ? tree.value
    : Object.fromEntries(Object.entries(tree).map(([key, branch]) => [key, valuesOf(branch)]));

function scaleCpu(cost, factor) {
  for (const name of Object.keys(cost)) if (name !== 'memory') cost[name] *= factor;
}

/** Machines for the workloads that are known, one change a row. */
export function sensitivity(known, costs) {
  const rows = Object.entries(changes).map(([name, change]) => {
    const changed = assume(costs, change);
    return [name, ...known.map((workload) => count(fewestMachines(workload, MIDDLE, changed)))];
  });
  return markdownTable(['', ...known.map((name) => workloads[name].title)], rows);
}
