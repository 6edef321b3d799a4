import { readCosts } from './costs.js';
import { bottlenecks } from './scaling/bottlenecks.js';
import { assume, MIDDLE, sensitivity } from './scaling/changes.js';
import { assumptionTable, costTable } from './scaling/inputs.js';
import { planTable, workloads } from './scaling/plans.js';
import { shown } from './table.js';

/** The last chapter: how many machines and Redis shards, what is first to run out, and what that hangs on. */
export function scalingChapter(groups) {
  const costs = readCosts(groups);
  const base = assume(costs, () => {});
  const known = Object.keys(workloads).filter((name) => base.demand[name]);
  return [
    '## Scaling: what 1, 10 and 100 million users need',
    `A calculation, not a measurement: \`load/scaling.js\` takes what one core of the machine above needed, read from the
results, and the assumptions below. Nobody has run 10 million users here. Taken as given: costs stay as they were in
the measured cell, each further core does as much as the first, and load spreads evenly. Left out: the kernel's memory
where the table of costs says so, TLS, load balancers, the traffic of reconnecting, and what the bus itself takes of
the network card.`,
    '### What was measured',
    costTable(costs),
    '### What is assumed',
    assumptionTable(),
    '### Machines and Redis shards',
    `"By CPU", "by memory" and "by network" are the machines that each alone would need; the largest is what it takes. "Bus"
is what each worker receives from others. On the classic bus every worker reads every message, and a second shard takes
nothing off the first; on the sharded bus a worker reads the rooms that it has members of, and one
room stays on one shard. Figures have two digits.`,
    ...known.map((name) => planTable(name, base)),
    ...missing(known),
    '### Where the next bottleneck lies',
    bottlenecks(known, base),
    '### What it hangs on',
    `Machines for ${shown(MIDDLE, 0)} users, sharded bus, with one thing changed at a time.`,
    sensitivity(known, costs),
  ].join('\n\n');
}

const missing = (known) => {
  const names = Object.keys(workloads).filter((name) => !known.includes(name));
  return names.length === 0
    ? []
    : [
        `Not calculated, because a cost it needs was not measured: ${names.map((name) => workloads[name].title).join(', ')}.`,
      ];
};
