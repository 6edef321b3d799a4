import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../generator/clock.js';
import { Histogram } from '../generator/histogram.js';
import { cpuMicros } from '../harness/process/machine.js';
import { soon } from '../harness/until.js';
import { alsoInArena } from './arena.js';
import { columns, latencyOf, quantiles, shown } from './columns.js';
import { cpuPer, measured } from './measured.js';

const ROOM = 'room';
/** Milliseconds; see `generator/rest.js`. From 200,000 deliveries/s on, the generator would be saturated without. */
export const REST = 0.5;
/** Together with `42["message",""]` this makes packets of 60 bytes. */
const TEXT = 44;
const SUBSCRIBERS = 1000;
const PUBLISHERS = 10;

/** How a client of the application `small` of the peers publishes, and what stands before a text it gets. */
export const SMALL = { event: 'publish', before: '42["message","' };
/** The same for the chat that gjallar's service is. A delivery carries room, sender and time too: about 130 bytes. */
export const CHAT = { event: 'message', before: '"text":"' };

/** How long after a join a chat may still send presence, in ms. */
const PRESENCE = 1000;

/**
 * One room. Publishers, in a process of their own so that a busy subscriber cannot hold them up, send evenly spread
 * messages; every subscriber gets every one. Latency is from a publisher's write to a subscriber's read, both in the
 * generators. A server that cannot keep up builds a backlog, so its latency depends on how long the run was.
 * @typedef {{
 *   subscribers: number,
 *   publishers: number,
 *   perSecond: number, messages of all publishers together
 *   rest?: number, see `generator/rest.js`
 *   warmUp?: number, in seconds
 *   dialect?: { event: string, before: string },
 * }} RoomCell
 */
const runRoom = measured({
  warmUp: [10, 5],
  window: [10, 4],
  begin: async ({ fleet, cell }) => (await openRoom(fleet, cell)).publish(cell.perSecond),
  figures: (window, { cell }) => roomFigures(window, cell),
});

const BURST = 100;
const MAX_BURST_MS = 60_000;

/** So many messages within a second, twice: the first time as warm-up. All of them arrive, however long that takes. */
async function runBurst({ peer, fleet, cell }) {
  const { listening, publish } = await openRoom(fleet, { ...cell, perSecond: BURST });
  const due = cell.subscribers * BURST;
  const burst = async (atMost) => {
    const before = { at: now(), cpu: peer.cpu() };
    await publish(BURST, TEXT, atMost);
    await soon(async () => (await listening.count('received')) >= (due * atMost) / BURST, MAX_BURST_MS, 50);
    const seconds = (now() - before.at) / 1000;
    const [{ counters, latency }] = await listening.look();
    return { cpu: cpuMicros(before.cpu, peer.cpu()), seconds, counters, latency };
  };
  const { counters: first } = await burst(BURST);
  const { cpu, seconds, counters, latency } = await burst(2 * BURST);
  const received = counters.received - first.received;
  const seen = new Histogram();
  seen.add(latency);
  return {
    ...{ deliveries: received / seconds, cpuPerDelivery: cpu / received },
    ...{ ...quantiles(seen), ...latencyOf(seen) },
    errors: counters.errors + due - received,
    ended: counters.ended,
  };
}

/** Connects all clients, and has the subscribers join. */
export async function openRoom(fleet, { subscribers, publishers, perSecond, rest = 0, dialect = SMALL }) {
  const { event, before } = dialect;
  const listening = await fleet.group(subscribers);
  const publishing = await fleet.group(publishers);
  await listening.open();
  await listening.join(ROOM);
  await publishing.open();
  if (dialect === CHAT) {
    await publishing.join(ROOM);
    await sleep(PRESENCE);
  }
  await listening.begin('subscribe', { every: sampling(perSecond * subscribers, 110_000), before, rest });
  const publish = (rate, size = TEXT, atMost = undefined) =>
    publishing.begin('publish', { event, room: ROOM, perSecond: rate, size, atMost });
  return { listening, publish };
}

/** Times so many deliveries a second at most, and every one at low rates. */
export const sampling = (deliveries, most) => [1, 7, 13, 41, 101].find((every) => deliveries / every <= most) ?? 211;

function roomFigures(window, { perSecond, subscribers }) {
  const [received] = window.groups;
  const deliveries = received.perSecond.received;
  return {
    cpuPerDelivery: cpuPer(window, deliveries),
    deliveries,
    ...quantiles(received.latency),
    ...{ due: perSecond * subscribers, achieved: deliveries },
  };
}

const roomColumns = columns('×cpuPerDelivery deliveries ×average p50 p99 server generatorCpu');

const crowd = { subscribers: SUBSCRIBERS, publishers: PUBLISHERS };
const restAt = (perSecond) => (perSecond > 100 ? REST : 0);

/** 1,000 subscribers at rising rates. */
const rates = [100, 400, 1000, 4000, 10_000].map((perSecond) => {
  const rest = restAt(perSecond);
  const short = `${shown(perSecond)} messages/s`;
  const label = rest > 0 ? `${short}, subscribers rest ${rest} ms between reads` : short;
  // A peer that is saturated at one rate is not offered the next.
  return { label, short, ladder: true, ...crowd, perSecond, rest };
});

/**
 * The rooms of workload 1. Its source states neither rate nor message size. Here each publisher sends four messages a
 * second, more than a person would: stock socket.io then keeps up with the third cell and not with the fourth, as the
 * published figures suggest, and the last cell is 400 messages a second to 1,000 subscribers.
 * @param {[number, number][]} table subscribers and publishers of each cell
 */
const workload1 = (table) =>
  table.map(([subscribers, publishers]) => ({
    label: `workload 1: ${shown(subscribers)} subscribers, ${publishers} ${publishers === 1 ? 'publisher' : 'publishers'} of 4 messages/s each`,
    subscribers,
    publishers,
    perSecond: publishers * 4,
    rest: publishers * 4 * subscribers > 100_000 ? REST : 0,
  }));
const heimdallr = [
  [10, 1],
  [100, 5],
  [1000, 10],
  [1000, 50],
  [1000, 100],
];

export const broadcast = {
  also: ['gjallar-portable', 'gjallar-express', ...alsoInArena],
  about: 'one room with packets of 60 bytes, 1,000 subscribers and 10 publishers unless a cell says otherwise',
  cells: (quick) => [
    ...(quick ? [rates[1], rates[3]] : rates),
    { label: 'a lone message: 1 subscriber, 1 publisher, 5 messages/s', subscribers: 1, publishers: 1, perSecond: 5 },
    {
      label: `${BURST} messages within a second to 3,000 subscribers`,
      burst: true,
      subscribers: 3000,
      publishers: 1,
      rest: REST,
    },
    ...workload1(quick ? [heimdallr[3]] : heimdallr),
  ],
  columns: roomColumns,
  run: (row) => (row.cell.burst ? runBurst(row) : runRoom(row)),
};

/** The cost of a delivery, and its latency, against the longest window that gjallar may gather messages in. */
export const windows = {
  about: `one room of ${shown(SUBSCRIBERS)} subscribers with different values of FLUSH_MS`,
  peers: { gjallar: {} },
  cells: (quick) =>
    (quick ? [400] : [100, 400, 1000]).flatMap((perSecond) =>
      (quick ? [0, 25] : [0, 5, 10, 25, 50]).map((flushMs) => ({
        label: `${shown(perSecond)} messages/s, FLUSH_MS=${flushMs}`,
        ...{ ...crowd, perSecond, rest: restAt(perSecond), peer: { flushMs } },
      })),
    ),
  columns: roomColumns,
  run: runRoom,
};

/** What a message costs the fewer it goes to; `broadcast` has the same rate with 1,000 subscribers. */
export const fanout = {
  also: ['gjallar-portable', 'gjallar-express'],
  about: 'rooms of different sizes with 100 messages/s and packets of 60 bytes',
  cells: (quick) =>
    (quick ? [10] : [1, 10, 100]).map((subscribers) => ({
      label: `${subscribers} ${subscribers === 1 ? 'subscriber' : 'subscribers'}`,
      ...{ subscribers, publishers: 1, perSecond: 100 },
    })),
  columns: roomColumns,
  run: runRoom,
};

const several = (service, count) => ({ like: 'nodes', service, nodes: count, processes: count });

/** Workload 1: a chat on one node and, joined by Redis, on several. */
export const nodes = {
  about: 'a chat on several nodes joined by Redis; the nodes and Redis share the cores that the generators leave free',
  peers: {
    ...Object.fromEntries(
      ['socketio', 'gjallar'].flatMap((service) =>
        [1, 2, 4].map((count) => [`${service}-nodes-${count}`, several(service, count)]),
      ),
    ),
  },
  cells: (quick) => workload1(quick ? [heimdallr[2]] : heimdallr).map((cell) => ({ ...cell, dialect: CHAT })),
  columns: [...roomColumns, ...columns('redisCpu')],
  run: runRoom,
};
