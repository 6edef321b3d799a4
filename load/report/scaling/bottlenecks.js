import { shown } from '../table.js';
import { count, workloads } from './plans.js';

/** What is first to run out, one item a workload, and what ends the bus. */
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
    return `- ${workloads[name].title}: bus aside, a machine carries ${figures.join(', ')}. The ${first[0]} ${first[0] === 'cores' ? 'are' : 'is'} first to run out, ${shown(second[1] / first[1])} times before the ${second[0]}.`;
  });
  if (perWorker > 0) {
    lines.push(
      `- The classic bus ends where every message together keep a worker busy with reading alone: at ${count(perWorker)} messages/s in the whole cluster, however many machines it has${known.includes('rooms') ? `, which is ${count(perWorker / base.demand.rooms.messages)} users in such rooms` : ''}.`,
      `- The sharded bus has no such end, but rooms whose members are anywhere are spread ever thinner: with many more workers than a room has members, every delivery needs a message on the bus${cost.delivery > 0 ? `, which costs ${count(cost.bus / cost.delivery)} times a delivery` : ''}. What would help next: one subscription for each machine instead of one for each worker, and a load balancer that sends the members of a room to the same machine.`,
    );
  }
  if (known.includes('slow')) {
    lines.push(
      '- One source for everybody is one room, on one shard, which sends each message to every worker. Where one is not enough, the source has to be taken in once for each machine, or handed on in a tree; neither is built.',
    );
  }
  return lines.join('\n');
}
