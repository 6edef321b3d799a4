import { memoryOf } from '../harness/row/memory.js';
import { alsoInArena } from './arena.js';
import { columns } from './columns.js';
import { cpuPer, measured } from './measured.js';

// Clients send, and the server answers each of them.

const CLIENTS = 200;
const also = ['gjallar-portable', 'gjallar-express', 'ws-cluster', 'gorilla', 'netty', 'tungstenite'];
const columnsOf = (more = '') => columns(`×cpuPerMessage perSecond ×average p99 server rss generatorCpu${more}`);

const figuresOf = (window, due) => {
  const [{ perSecond, total }] = window.groups;
  return {
    cpuPerMessage: cpuPer(window, perSecond.received),
    perSecond: perSecond.received,
    received: total.received,
    late: total.late,
    ...{ due, achieved: perSecond.received },
  };
};

/**
 * Clients send a text and get it back. The rate is the same for every peer, and low enough for all of them: cost per
 * message falls with the load, so peers that each ran at their own limit could not be compared.
 */
export const echo = {
  also,
  about: `the server echoes texts of ${CLIENTS} clients, each with at most one message in flight`,
  cells: (quick) =>
    [
      { label: '30 bytes, 10,000/s', size: 30, perSecond: 10_000 },
      { label: '4 bytes, 10,000/s', size: 4, perSecond: 10_000 },
      { label: '4 bytes, 897/s (workload 3)', size: 4, perSecond: 897 },
    ].slice(0, quick ? 1 : 3),
  columns: columnsOf(),
  run: measured({
    warmUp: [4, 2],
    window: [15, 5],
    async begin({ fleet, cell: { size, perSecond } }) {
      const clients = await fleet.group(CLIENTS);
      await clients.open();
      await clients.begin('echo', { event: 'echo', size, perSecond });
    },
    figures: (window, { cell }) => figuresOf(window, cell.perSecond),
  }),
};

const MESSAGES = 10;
const ROUNDS = 500;

const answered = {
  warmUp: [5, 3],
  window: [15, 5],
  async begin({ fleet, cell: { clients } }) {
    const group = await fleet.group(clients);
    await group.open();
    await group.begin('heartbeat', {});
  },
  figures: (window, { cell: { clients } }) => figuresOf(window, clients * MESSAGES),
};
const first = measured(answered);
/** What the first window has begun goes on. */
const rest = measured({ ...answered, warmUp: [0, 0], window: [ROUNDS, ROUNDS], begin: async () => {} });

/**
 * Workload 3: each client sends a heartbeat a second and is answered with ten messages of 10,000 bytes, all checked. Its
 * 500 rounds run only on peers that keep up at first: the others would fall further behind.
 */
async function runMarketdata(row) {
  const { cell, quick } = row;
  const beginning = await first(row);
  if (!cell.rounds) return beginning;
  const isFit = beginning.late === 0 && !beginning.saturated && !beginning.starved;
  const result = quick || !isFit ? beginning : await rest(row);
  const rounds = result.received / (cell.clients * MESSAGES);
  return { ...result, rounds, completed: isFit && result.late === 0 && result.errors === 0 };
}

export const marketdata = {
  also,
  about:
    'each client sends one heartbeat per second and gets 10 messages of 10,000 bytes; uWebSockets.js, and so gjallar on it, writes them in five calls of 20 KB, because its buffer for one turn has 16 KB; gjallar on portable sockets, gorilla, Netty and ws write once',
  cells: (quick) =>
    [
      { label: '1,000 clients', clients: 1000 },
      { label: '3,000 clients', clients: 3000 },
      { label: `workload 3: 5,000 clients, ${quick ? 5 : ROUNDS} rounds`, clients: 5000, rounds: ROUNDS },
    ].slice(quick ? 2 : 0),
  maxRowMs: 900_000,
  columns: columnsOf(' late'),
  run: runMarketdata,
};

const IDLE = 10_000;
const DEFAULT_INTERVAL = 25;

/**
 * Clients that do nothing but answer heartbeats. To keep a run short, all peers ping more often than Socket.IO's default;
 * the first round is warm-up, the next two are measured. Half of what the kernel's objects grow by belongs to the server: each
 * connection has its other end here too.
 */
function runIdle(row) {
  const interval = row.cell.peer.pingInterval / 1000;
  return measured({
    warmUp: [interval, interval],
    window: [2 * interval, 2 * interval],
    async begin({ peer, fleet }) {
      const clients = await fleet.group(IDLE);
      await peer.memory();
      const before = memoryOf(peer);
      await clients.open();
      return before;
    },
    async figures(window, { peer }, before) {
      await peer.memory();
      const after = memoryOf(peer);
      const server = after.server - before.server;
      const [{ perSecond }] = window.groups;
      const cpuPerHeartbeat = cpuPer(window, perSecond.pings);
      return {
        ...{ cpuPerHeartbeat, perSecond: perSecond.pings, expected: IDLE / interval },
        cpuPerConnection: cpuPerHeartbeat / DEFAULT_INTERVAL,
        serverPerClient: server / IDLE,
        kernelPerClient: (after.kernel - before.kernel) / IDLE / 2,
      };
    },
  })(row);
}

export const idle = {
  also: alsoInArena,
  about:
    '10,000 clients that do nothing but answer heartbeats; the CPU of a connection is that of its heartbeats at the default interval',
  cells: (quick) => {
    const seconds = quick ? 5 : 10;
    const label = `pingInterval ${seconds} s (Socket.IO's default is ${DEFAULT_INTERVAL} s)`;
    return [{ label, peer: { pingInterval: seconds * 1000 } }];
  },
  columns: [
    { ...columns('×server')[0], digits: 2 },
    ...columns('×cpuPerHeartbeat cpuPerConnection ×serverPerClient kernelPerClient perSecond expected generatorCpu', {
      perSecond: 'heartbeats/s',
    }),
  ],
  run: runIdle,
};
