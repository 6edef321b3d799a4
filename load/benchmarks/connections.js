import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../generator/clock.js';
import { Histogram } from '../generator/histogram.js';
import { cpuMicros } from '../harness/process/machine.js';
import { ManyClients } from '../harness/row/many-clients.js';
import { measure, usageOf } from '../harness/row/measure.js';
import { memoryOf } from '../harness/row/memory.js';
import { columns, latencyOf, shown } from './columns.js';

/** Each client sends 30 characters at this interval in ms, as in workload 4, and is pinged as often, by Socket.IO's default. */
const EVERY = 25_000;
/** The same where more are connected than two cores could serve at that rate: a million make 80,000 packets a second. */
const SELDOM = 100_000;
/** The same for as many as fit. */
const RARELY = 200_000;
/** So many on average: the kernel deals the connections out by chance, and a process may have 20,000 descriptors. */
const CLIENTS_PER_WORKER = 18_500;
/** Bytes of memory that stay free: a message to all waits in each socket, in up to 1 KB of kernel memory. */
const RESERVE = 3 * 2 ** 30;
/** How long one message may take to reach all clients. */
const MAX_BROADCAST_MS = 180_000;

/**
 * Connects all clients to one room and has them send at intervals, with heartbeats; then one of them sends a message to
 * all. The memory of a client is what the machine has less of afterwards: both ends and the kernel. The kernel's share is
 * what remains without the processes.
 */
async function run({ peer, cell, quick }) {
  const empty = memoryOf(peer, []);
  const many = await ManyClients.start(peer, cell.clients);
  try {
    const cpuBefore = peer.cpu();
    const from = now();
    const { connected, refused } = await many.open(RESERVE);
    const seconds = (now() - from) / 1000;
    const cpuAfter = peer.cpu();
    const full = memoryOf(peer, many.pids);

    await many.talk(cell.every);
    const fleet = { look: async () => [await many.look()] };
    const window = await measure({ peer, fleet, warmUp: quick ? 5 : 25, window: quick ? 10 : 50 });
    const [{ perSecond, total, latency }] = window.groups;
    const broadcast = await toAll(many, connected);

    const server = full.server - empty.server;
    const machine = empty.available - full.available;
    return {
      clients: connected,
      ...{ refused, seconds },
      cpuPerConnect: cpuMicros(cpuBefore, cpuAfter) / connected,
      bytesPerClient: machine / connected,
      serverPerClient: server / connected,
      kernelPerClient: (machine - server - full.generator) / connected,
      perSecond: perSecond.received,
      ...latencyOf(latency),
      ...broadcast,
      errors: total.errors,
      ended: total.ended,
      ...usageOf(window),
    };
  } finally {
    // The server first: the side that closes first keeps its port in TIME_WAIT, and the server's ports are not needed again.
    await peer.stop();
    await many.stop();
  }
}

/** How long one message takes to reach all clients, in ms. */
async function toAll(many, clients) {
  await many.publish();
  const reach = new Histogram();
  const from = now();
  do {
    await sleep(500);
    for (const seen of await many.look()) reach.add(seen.reach);
  } while (reach.count < clients && now() - from < MAX_BROADCAST_MS);
  return { reached: reach.count, reachAll: reach.max };
}

const cellOf = (clients, every, name = `${shown(clients)} clients`) => {
  const workers = Math.ceil(clients / CLIENTS_PER_WORKER);
  const label = `${name}, each speaks and is pinged every ${every / 1000} s`;
  return { label, clients, every, peer: { workers, processes: workers, pingInterval: every } };
};

const cluster = (server) => ({ like: 'nodes', service: 'cluster', server, redis: true });

/** Workload 4: half a million connections to one server, and a million, and more. */
export default {
  about: `clients in one room; each sends 30 characters at intervals and gets them back in upper case, with heartbeats`,
  peers: { 'socketio-cluster': cluster('socketio'), 'gjallar-cluster': cluster('gjallar') },
  cells: (quick) => {
    const cells = [cellOf(64_000, EVERY), cellOf(512_000, EVERY), cellOf(1_000_000, SELDOM)];
    return quick ? cells.slice(0, 1) : [...cells, cellOf(1_700_000, RARELY, 'as many clients as fit')];
  },
  maxRowMs: 1_800_000,
  columns: columns(
    'clients refused seconds ×bytesPerClient serverPerClient kernelPerClient perSecond ×server p99 reached reachAll generatorCpu',
    { perSecond: 'echoes/s' },
  ),
  run,
};
