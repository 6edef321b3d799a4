import { readCosts } from './results/costs.js';
import { bottlenecks } from './scaling/bottlenecks.js';
import { assume, MIDDLE, sensitivity } from './scaling/changes.js';
import { assumptionTable, costTable } from './scaling/inputs.js';
import { planTable, workloads } from './scaling/plans.js';
import { shown } from './sections/table.js';

/** The page on capacity: how many machines and Redis shards, which resource runs out first, and how sensitive that is. */
export function scalingChapter(groups) {
  const costs = readCosts(groups);
  const base = assume(costs, () => {});
  const known = Object.keys(workloads).filter((name) => base.demand[name]);
  return [
    '# Capacity planning: 1, 10 and 100 million users',
    `This page is a calculation, not a measurement: 10 million users were never connected. It combines what one core of the
measured machine spent with the assumptions of \`load/report/scaling/assumptions.js\`. To try other assumptions, edit that file
and run \`node load/scaling.js\`.

The calculation assumes that costs stay as they were in the measured cell, that each further core does as much work as
the first, and that load spreads evenly. It leaves out TLS, load balancers, reconnecting clients, the bus's share of the
network card, and the kernel's memory where the table of costs says so.`,
    '## Measured costs',
    costTable(costs),
    '## Assumptions',
    assumptionTable(),
    '## Machines and Redis shards',
    `"By CPU", "by memory" and "by network" give the number of machines that each resource alone would need. The largest of
them is the number of machines. "Bus per worker" is how many messages each worker receives from others. On the classic
bus, every worker reads every message, and a second shard takes no load off the first. On the sharded bus, a worker reads
the rooms in which it has members, and one room stays on one shard. The bus of frames carries the same messages, at most
one frame for each window, worker and other machine; "frames" are those that the gateway of a machine sends and
reads. What it costs to hand them on to the other workers is left out. "Placed" means that a proxy brings the members of a
room to one worker ([placement](../guide/placement.md)). Only members that are elsewhere need the bus, and a message on it
costs what it costs on the sharded bus.
"Impossible" means that no number of machines is enough. Figures are rounded to two digits.`,
    ...known.map((name) => planTable(name, base)),
    ...missing(known),
    '## Next bottlenecks',
    bottlenecks(known, base),
    '## Sensitivity',
    `Machines for ${shown(MIDDLE, 0)} users, one assumption changed at a time, on the bus that needs the fewest.`,
    sensitivity(known, costs),
  ].join('\n\n');
}

const missing = (known) => {
  const names = Object.keys(workloads).filter((name) => !known.includes(name));
  return names.length === 0
    ? []
    : [`Not calculated, because a cost was not measured: ${names.map((name) => workloads[name].title).join(', ')}.`];
};
