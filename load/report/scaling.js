import { demands, parameters, plan } from '../scaling.js';
import { readCosts } from './costs.js';
import { markdownTable, shown } from './table.js';

const MILLION = 1e6;
const USERS = [1, 10, 100].map((millions) => millions * MILLION);
/** For the table of what the result hangs on. */
const MIDDLE = 10 * MILLION;

const workloads = {
  rooms: { title: 'Chat rooms (document 1)', buses: ['classic', 'sharded'] },
  direct: { title: 'One to one (document 2)', buses: ['classic', 'sharded'] },
  market: { title: 'Market data (document 3)', buses: ['sharded'] },
  idle: { title: 'Idle connections (document 4)', buses: ['sharded'] },
  slow: { title: 'Slow clients (document 5)', buses: ['sharded'] },
};

/** What is changed, one at a time; what the change does to the values of all parameters, and to the costs. */
const changes = {
  'as assumed': () => {},
  'all CPU costs twice as high': (_p, cost) => scaleCpu(cost, 2),
  'all CPU costs half as high': (_p, cost) => scaleCpu(cost, 0.5),
  'twice the memory of a connection': (_p, cost) => {
    cost.memory *= 2;
  },
  'a network card of 100 Gbit/s': ({ machine }) => {
    machine.network *= 10;
  },
  'machines of 64 cores, 256 GiB': ({ machine }) => {
    machine.cores *= 4;
    machine.memory *= 4;
  },
  'planned with 80% instead of 60%': ({ machine }) => {
    machine.headroom = 0.8;
  },
  'rooms of 100 with 4 messages/s': ({ rooms }) => {
    rooms.members = 100;
    rooms.perSecond = 4;
  },
  'twice the rate of messages': (p) => {
    p.rooms.perSecond *= 2;
    p.market.perSecond *= 2;
    p.slow.perSecond *= 2;
    p.direct.interval /= 2;
    p.idle.interval /= 2;
  },
};

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

/** Parameters, costs and demands after a change. */
function assume(costs, change) {
  const values = valuesOf(parameters);
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

function costTable(costs) {
  const rows = costs.map(({ about, unit, from, value }) => [
    about,
    Number.isNaN(value) ? 'not measured' : unit === 'µs' ? `${shown(value * 1e6)} µs` : `${shown(value, 0)} ${unit}`,
    `\`${from}\``,
  ]);
  return markdownTable(['', 'cost', 'from'], rows, 1);
}

function assumptionTable() {
  const rows = Object.entries(parameters).flatMap(([group, tree]) =>
    'value' in tree
      ? [[tree.about, shown(tree.value, tree.value % 1 ? 3 : 0), `\`${group}\``]]
      : Object.entries(tree).map(([name, { value, about }]) => [
          about,
          value.toLocaleString('en-US', { maximumFractionDigits: 3 }),
          `\`${group}.${name}\``,
        ]),
  );
  return markdownTable(['', '', 'in `load/scaling.js`'], rows, 1);
}

const planned = (name, bus, users, { values, cost, demand }) => plan(users, demand[name], bus, values, cost);

function planTable(name, base) {
  const { title, buses } = workloads[name];
  const rows = USERS.flatMap((users) =>
    buses.map((bus) => {
      const { machines, limits, first, perWorker, shards } = planned(name, bus, users, base);
      return [
        `${users / MILLION} million`,
        hasBus(name, base) ? bus : '–',
        ...Object.values(limits).map(count),
        `**${count(machines)}**`,
        first,
        hasBus(name, base) ? `${count(Math.round(perWorker))}/s` : '–',
        shardsOf(base.demand[name], bus, shards),
      ];
    }),
  );
  const head = [
    'users',
    'bus',
    'by CPU',
    'by memory',
    'by network',
    'machines',
    'limit',
    'bus per worker',
    'Redis shards',
  ];
  return `**${title}**\n\n${markdownTable(head, rows)}`;
}

const hasBus = (name, { demand }) => demand[name].messages + demand[name].fixed > 0;
/** Two digits: more would promise what such a calculation cannot keep. */
const count = (number) => (number === Infinity ? 'no number' : shown(Number(number.toPrecision(2)), 0));

/** Neither the classic bus nor one room can be divided. */
const shardsOf = ({ fixed }, bus, shards) =>
  shards > 1 && (bus === 'classic' || fixed > 0) ? 'one is not enough' : count(shards);

const missing = (known) => {
  const names = Object.keys(workloads).filter((name) => !known.includes(name));
  return names.length === 0
    ? []
    : [
        `Not calculated, because a cost it needs was not measured: ${names.map((name) => workloads[name].title).join(', ')}.`,
      ];
};

function bottlenecks(known, base) {
  const { values, cost } = base;
  const { machine } = values;
  const perWorker = machine.headroom / cost.bus;
  const lines = known.map((name) => {
    const demand = base.demand[name];
    const carried = {
      cores: (machine.cores * machine.headroom) / demand.cpu,
      memory: (machine.memory * machine.headroom) / demand.memory,
      'network card': (machine.network * machine.headroom) / demand.bytes,
    };
    const [first, second] = Object.entries(carried).sort(([, a], [, b]) => a - b);
    const figures = Object.entries(carried).map(([resource, users]) => `${count(users)} by its ${resource}`);
    return `- ${workloads[name].title}: bus aside, a machine carries ${figures.join(', ')}. The ${first[0]} ${first[0] === 'cores' ? 'are' : 'is'} first to run out, ${shown(second[1] / first[1])} times before the ${second[0]}.`;
  });
  if (perWorker > 0) {
    lines.push(
      `- The classic bus ends where every message together keep a worker busy with reading alone: at ${count(perWorker)} messages/s in the whole cluster, however many machines it has${known.includes('rooms') ? `, which is ${count(perWorker / base.demand.rooms.messages)} users in such rooms` : ''}.`,
      `- The sharded bus has no such end, but rooms whose members are anywhere are spread ever thinner: with many more workers than a room has members, every delivery needs a message on the bus, which costs ${count(cost.bus / cost.delivery)} times a delivery. What would help next: one subscription for each machine instead of one for each worker, and a load balancer that sends the members of a room to the same machine.`,
    );
  }
  if (known.includes('slow')) {
    lines.push(
      '- One source for everybody is one room, on one shard, which sends each message to every worker. Where one is not enough, the source has to be taken in once for each machine, or handed on in a tree; neither is built.',
    );
  }
  return lines.join('\n');
}

function sensitivity(known, costs) {
  const rows = Object.entries(changes).map(([name, change]) => {
    const changed = assume(costs, change);
    return [name, ...known.map((workload) => count(planned(workload, 'sharded', MIDDLE, changed).machines))];
  });
  return markdownTable(['', ...known.map((name) => workloads[name].title)], rows);
}
