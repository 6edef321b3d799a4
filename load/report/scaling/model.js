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
 *   readers: (workers: number) => number, how many of these workers or machines have members that a message is for
 *   elsewhere?: number, how many workers have such members besides the one that a proxy brings them to
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
      elsewhere: p.rooms.elsewhere,
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
 * How messages cross: every worker reads everything (classic); the rooms that it has members of, one message at a time
 * (sharded); these in frames, one for each machine and window; or, one at a time, those of rooms that have members besides
 * the worker that a proxy brings them to (placed).
 * @typedef {'classic' | 'sharded' | 'frames' | 'placed'} Bus
 */

/**
 * What workers have for each other, each second.
 * @typedef {{
 *   messages: number, that each worker reads
 *   frames: number, that the worker which takes in the frames of its machine sends and reads
 *   copies: number, what the server between the machines sends
 *   copySize: number, bytes of such a copy
 * }} Traffic
 */

/**
 * @param {Bus} bus
 * @returns {Traffic}
 */
function trafficOf(bus, published, { readers, size, elsewhere = 0 }, { machine: { cores }, wire }, machines) {
  // A machine alone needs no bus between machines; its workers have their own, which is not counted.
  if (machines <= 1 || published === 0) return { messages: 0, frames: 0, copies: 0, copySize: 0 };
  const workers = machines * cores;
  if (bus !== 'frames') {
    const readersOn = { classic: () => workers, sharded: () => readers(workers), placed: () => elsewhere };
    const copies = published * readersOn[bus]();
    return { messages: copies / workers, frames: 0, copies, copySize: size + wire.overhead };
  }
  const others = machines - 1;
  // Of one worker's messages, those for members on one other machine.
  const toOne = (published / workers) * Math.min(1, readers(machines) / machines);
  const framesToOne = Math.min(1 / wire.window, toOne);
  const heard = cores * others * framesToOne;
  return {
    messages: (published * readers(workers)) / workers,
    // Of the gateway, which has as many clients as the other workers. What it costs to hand frames on is left out.
    frames: heard + others * framesToOne,
    copies: heard * machines * Math.min(cores, wire.readers),
    copySize: size * (toOne / framesToOne || 0) + wire.overhead,
  };
}

/**
 * The smallest number of machines that carries `users`, with what limits it.
 * @param {number} users
 * @param {Demand} demand
 * @param {Bus} bus
 * @returns {{
 *   machines: number, limits: Record<string, number>, first: string, perWorker: number, frames: number, shards: number
 * }} `limits` are the machines that each resource alone would need; Infinity where no number of machines is enough
 */
export function plan(users, demand, bus, parameters, cost) {
  const { machine } = parameters;
  const published = users * demand.messages + demand.fixed;
  const traffic = (machines) => trafficOf(bus, published, demand, parameters, machines);
  const perMessage = bus === 'frames' ? cost.framed : cost.bus;
  const ofBus = ({ messages, frames }) => messages * perMessage + (frames > 0 ? (frames * cost.frame) / 2 : 0);
  const needs = {
    CPU: (machines) => (users * demand.cpu) / machines / machine.cores + ofBus(traffic(machines)),
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
  const { messages, frames, copies, copySize } =
    machines === Infinity ? { messages: published, frames: 0, copies: Infinity, copySize: 1 } : traffic(machines);
  const perCopy = bus === 'frames' ? cost.brokerFrame : cost.redis;
  const busy = users * demand.store + (copies > 0 ? copies * perCopy : 0);
  const sent = copies > 0 ? (copies * copySize) / machine.network : 0;
  const shards = Math.ceil(Math.max(busy, sent) / machine.headroom);
  return { machines, limits, first, perWorker: messages, frames, shards };
}

/** How much larger the next number of machines is that is tried. */
const STEP = 1.02;

/** The smallest whole number from 1 on that is enough. More machines send more frames, so a larger one may not be. */
function fewest(isEnough) {
  let low = 0;
  let high = 1;
  while (!isEnough(high)) {
    low = high;
    high = Math.max(high + 1, Math.ceil(high * STEP));
    if (high > 2 ** 40) return Infinity;
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isEnough(middle)) high = middle;
    else low = middle;
  }
  return high;
}
