// How many machines and Redis shards a number of users needs, from measured costs and the assumptions beside this file.

/**
 * What one user of a workload needs.
 * @typedef {{
 *   cpu: number, seconds of a core per user and second, the bus not counted
 *   memory: number, bytes per user
 *   bytes: number, sent per user and second
 *   messages: number, that each user adds to the bus per second; 0 where workers answer their own clients alone
 *   fixed: number, messages per second on the bus however many users there are
 *   size: number, bytes of a message on the bus
 *   readers: (workers: number) => number, how many of the workers a message has to reach on a sharded bus
 *   store: number, seconds of a Redis per user and second for what is kept
 * }} Demand
 */

/** The demand of each workload; null where one of its costs was not measured. */
export function demands(p, cost) {
  const idle = cost.heartbeat / p.heartbeat;
  const everywhere = (workers) => workers;
  const spread = (workers) => workers * (1 - (1 - 1 / workers) ** p.rooms.members);
  const needing = (needed, demand) => (needed.every((name) => Number.isFinite(cost[name])) ? demand() : null);
  const none = { messages: 0, fixed: 0, size: 0, readers: everywhere, store: 0 };
  return {
    rooms: needing(['heartbeat', 'delivery', 'memory', 'bus', 'redis'], () => ({
      ...none,
      cpu: p.rooms.perSecond * cost.delivery + idle,
      memory: cost.memory,
      bytes: wireBytes(p.wire, p.rooms.perSecond, p.rooms.size),
      messages: p.rooms.perSecond / p.rooms.members,
      size: p.rooms.size,
      readers: spread,
    })),
    direct: needing(['heartbeat', 'direct', 'memory', 'bus', 'redis', 'store'], () => ({
      ...none,
      cpu: cost.direct / p.direct.interval + idle,
      memory: cost.memory,
      bytes: wireBytes(p.wire, 2 / p.direct.interval, p.direct.size),
      messages: 1 / p.direct.interval,
      size: p.direct.size,
      // The recipient's worker; the sender's worker has the message already.
      readers: (workers) => Math.min(1, workers),
      store: cost.store / p.direct.interval,
    })),
    market: needing(['heartbeat', 'large', 'memory'], () => ({
      ...none,
      cpu: p.market.perSecond * cost.large + idle,
      memory: cost.memory,
      bytes: wireBytes(p.wire, p.market.perSecond, p.market.size),
    })),
    idle: needing(['heartbeat', 'echo', 'memory'], () => ({
      ...none,
      cpu: cost.echo / p.idle.interval + idle,
      memory: cost.memory,
      bytes: wireBytes(p.wire, 1 / p.idle.interval, p.idle.size),
    })),
    slow: needing(['heartbeat', 'gathered', 'memory', 'bus', 'redis'], () => ({
      ...none,
      cpu: p.slow.perSecond * cost.gathered + idle,
      memory: cost.memory + p.slow.share * p.slow.backlog,
      bytes: wireBytes(p.wire, p.slow.perSecond, p.slow.size),
      // A single source for all clients: the number of messages does not depend on the number of users.
      fixed: p.slow.perSecond,
      size: p.slow.size,
    })),
  };
}

/** Bytes a second on the wire to one client. Messages of one window share segments. */
function wireBytes({ segment, overhead, frame, window }, perSecond, size) {
  const payload = perSecond * (size + frame);
  const segments = Math.max(Math.min(perSecond, 1 / window), payload / segment);
  return payload + segments * overhead;
}

/**
 * The smallest number of machines that carries `users`, with what limits it.
 * @param {number} users
 * @param {Demand} demand
 * @param {'classic' | 'sharded'} bus every worker reads everything, or the rooms that it has members of
 * @returns {{ machines: number, limits: Record<string, number>, first: string, perWorker: number, shards: number }}
 *   `limits` are the machines that each resource alone would need; Infinity where no number of machines is enough
 */
export function plan(users, demand, bus, { machine, wire }, cost) {
  const published = users * demand.messages + demand.fixed;
  const reach = (workers) => (bus === 'classic' ? workers : demand.readers(workers));
  // A machine alone needs no bus between machines; its workers have their own, which is not counted.
  const received = (machines) =>
    machines <= 1 ? 0 : (published * reach(machines * machine.cores)) / (machines * machine.cores);
  const needs = {
    CPU: (machines) =>
      (users * demand.cpu) / machines / machine.cores + (published > 0 ? received(machines) * cost.bus : 0),
    memory: (machines) => (users * demand.memory) / machines,
    network: (machines) => (users * demand.bytes) / machines,
  };
  const has = { CPU: 1, memory: machine.memory, network: machine.network };
  const limits = Object.fromEntries(
    Object.entries(needs).map(([name, need]) => [
      name,
      fewest((machines) => need(machines) <= has[name] * machine.headroom),
    ]),
  );
  const machines = Math.max(...Object.values(limits));
  const first = Object.keys(limits).reduce((a, b) => (limits[b] > limits[a] ? b : a));
  const perWorker = machines === Infinity ? published : received(machines);
  const copies = machines === Infinity ? Infinity : perWorker * machines * machine.cores;
  const busy = users * demand.store + (copies > 0 ? copies * cost.redis : 0);
  const sent = copies > 0 ? (copies * (demand.size + wire.overhead)) / machine.network : 0;
  return { machines, limits, first, perWorker, shards: Math.ceil(Math.max(busy, sent) / machine.headroom) };
}

/** The smallest whole number from 1 on that is enough, for a condition that stays true once it is. */
function fewest(isEnough) {
  let high = 1;
  while (!isEnough(high)) {
    high *= 2;
    if (high > 2 ** 40) return Infinity;
  }
  let low = high / 2;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isEnough(middle)) high = middle;
    else low = middle;
  }
  return high;
}
