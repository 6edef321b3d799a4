import { shown } from '../sections/table.js';
import { count, planned, workloads } from './plans.js';

/** How finely numbers of users are tried. */
const STEP = 1.02;

/** Which resource runs out first, one item per workload, and where the bus reaches its limit. */
export function bottlenecks(known, base) {
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
    return `- ${workloads[name].title}: without the bus, a machine carries ${figures.join(', ')}. The ${first[0]} ${first[0] === 'cores' ? 'run' : 'runs'} out first, at ${shown(second[1] / first[1])} times fewer users than the ${second[0]}.`;
  });
  if (perWorker > 0) {
    lines.push(
      `- The classic bus reaches its limit when reading alone keeps every worker busy. That is at ${count(perWorker)} messages/s in the whole cluster, regardless of the number of machines${known.includes('rooms') ? `: ${count(perWorker / base.demand.rooms.messages)} users in such rooms` : ''}.`,
      `- The sharded bus has no such limit, but the members of a room are spread ever thinner. With many more workers than members, every delivery needs a message on the bus${cost.delivery > 0 ? `, which costs ${count(cost.bus / cost.delivery)} times as much as the delivery itself` : ''}. A load balancer that sends the members of a room to the same worker avoids it ([placement](../guide/placement.md)).`,
    );
  }
  if (known.includes('rooms') && Number.isFinite(cost.framed + cost.frame)) lines.push(framesLine(base));
  if (known.includes('slow')) {
    lines.push(
      '- A single source for all clients is one room on one shard, which sends each message to every worker. Where one shard is not enough, each machine has to read the source once, or machines have to pass messages on in a tree. gjallar does neither.',
    );
  }
  return lines.join('\n');
}

/** How many users have fewer machines on frames than on the sharded bus. */
function framesLine(base) {
  const machinesOn = (bus, users) => planned('rooms', bus, users, base).machines;
  let users = 10_000;
  while (users < 1e9 && machinesOn('frames', users * STEP) <= machinesOn('sharded', users * STEP)) users *= STEP;
  const half = Number((users / 2).toPrecision(1));
  const compared = `${count(half)} users need ${count(machinesOn('frames', half))} machines instead of ${count(machinesOn('sharded', half))}`;
  return `- Frames make a message between machines ${shown(base.cost.bus / base.cost.framed)} times cheaper, but each worker sends one to each other machine in every window: their number grows with the square of the machines. ${compared}. Above ${count(users)} users in such rooms, a machine's one gateway has no time left, and the sharded bus needs fewer machines. A window that grows with the number of machines would be the next improvement. More gateways and a gateway that hands on in windows were measured and not kept ([one-gateway.md](../decisions/one-gateway.md)).`;
}
