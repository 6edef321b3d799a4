import { setTimeout as sleep } from 'node:timers/promises';
import { HOST } from '../harness/row/peer.js';
import { alsoInArena } from './arena.js';
import { columns, quantiles, shown } from './columns.js';
import { cpuPer, measured } from './measured.js';
import { CHAT, REST, runRoom, SMALL, sampling, workerCells, workerColumns, workerPeers } from './room.js';
import { saturate } from './saturation.js';

const CLIENTS = 500;
const TEXT = 44;
/** Presence after the joins, in ms. */
const SETTLING = 3000;

/**
 * Many rooms whose members publish: each message goes to all members of its room, the sender too. A server's cost is
 * stated per message, because what a message costs beside its deliveries is what rooms of this size show. A cell has
 * `members` of each room, and messages `perSecond`; without, a server is offered a little more than it takes.
 */
async function runRooms(row) {
  const { perSecond, members } = row.cell;
  if (perSecond) return paced(row);
  const figures = (window, rate) => roomsFigures(window, { members, perSecond: rate });
  return saturate(row, { size: members, figures, ...(await openRooms(row)) });
}

const paced = measured({
  warmUp: [12, 6],
  window: [10, 4],
  async begin(row) {
    const { publish } = await openRooms(row);
    await publish(row.cell.perSecond);
    return sentFrames(row.peer);
  },
  async figures(window, { peer, cell }, before) {
    const after = await sentFrames(peer);
    const frames = before && ((after.count - before.count) * 1000) / (after.at - before.at);
    return { ...roomsFigures(window, cell), frames };
  },
});

async function openRooms({ fleet, cell: { members, clients: count, dialect = CHAT } }) {
  const clients = await fleet.group(count);
  await clients.open();
  await clients.joinRooms(members);
  await sleep(SETTLING);
  const publish = (rate) => {
    const every = sampling(rate * members, 14_000);
    return clients.begin('converse', { ...dialect, members, perSecond: rate, size: TEXT, rest: REST, every });
  };
  return { clients, publish };
}

/** How many frames the nodes have sent each other so far; undefined of a server that gathers nothing in frames. */
async function sentFrames({ settings, ports }) {
  if (settings.service !== 'gjallar') return undefined;
  const pages = await Promise.all(ports.map(async (port) => (await fetch(`http://${HOST}:${port}/metrics`)).text()));
  const counts = pages.flatMap((page) => [...page.matchAll(/^gjallar_bus_frames_total (\d+)$/gm)]);
  if (counts.length === 0) return undefined;
  return { count: counts.reduce((sum, [, count]) => sum + Number(count), 0), at: Date.now() };
}

function roomsFigures(window, { perSecond, members }) {
  const [seen] = window.groups;
  const deliveries = seen.perSecond.received;
  const messages = deliveries / members;
  const broker = window.helpers.redis ?? window.helpers.nats;
  return {
    cpuPerMessage: cpuPer(window, messages),
    brokerPerMessage: broker === undefined ? undefined : (broker * 1e6) / messages,
    messages,
    deliveries,
    delivered: perSecond && (deliveries / (perSecond * members)) * 100,
    ...quantiles(seen.latency),
    published: seen.perSecond.sent,
    ...{ due: perSecond * members, achieved: deliveries },
  };
}

const latencyAndUsage = 'average p99 server generatorCpu';
const cellOf = (members, perSecond, more) => ({
  label: `rooms of ${members}, ${shown(perSecond)} messages/s`,
  ...{ clients: CLIENTS, members, perSecond, ...more },
});

/**
 * What a message costs in small rooms: there, a window has few messages for each subscriber. The last cell is one of a public
 * benchmark: each of 1,000 clients sends twice a second to the others of its room.
 */
export const whispers = {
  also: ['gjallar-portable', 'gjallar-express', ...alsoInArena],
  about: 'clients in rooms whose members send to each other, 500 of them unless a cell says otherwise',
  cells: (quick) => [
    ...(quick ? [5000] : [1000, 5000, 10_000]).map((rate) => cellOf(10, rate, { dialect: SMALL })),
    { ...cellOf(100, 2000, { dialect: SMALL }), label: '1,000 clients in 10 rooms, 2,000 messages/s', clients: 1000 },
  ],
  columns: columns(`×cpuPerMessage ×messages delivered p50 ${latencyAndUsage}`),
  run: runRooms,
};

const clustered = (service, more) => ({ like: 'nodes', service, nodes: 2, processes: 2, ...more });

/** Machines with workers. */
const placed = (name, nodes, workers) => ({
  [`gjallar-${name}`]: clustered('gjallar', { nodes, workers, processes: nodes * workers, bus: 'redis-frames' }),
});

/** What it costs that messages go through the hubs of machines: two or four machines, with one worker or two. */
export const placement = {
  about: `${CLIENTS} clients of a chat in rooms of 10 on machines with workers, joined over Redis by their hubs`,
  peers: { ...placed('2x1', 2, 1), ...placed('2x2', 2, 2), ...placed('4x2', 4, 2) },
  cells: () => [1000, 10_000].map((rate) => cellOf(10, rate)),
  columns: columns(`×cpuPerMessage brokerPerMessage frames ×messages ${latencyAndUsage}`),
  run: runRooms,
};

/** What it costs that the members of a room are on two machines. */
export const cluster = {
  about: `${CLIENTS} clients of a chat in rooms on two nodes joined by a broker, the members of each room on both`,
  peers: {
    'socketio-nodes-2': clustered('socketio'),
    'gjallar-nodes-1': clustered('gjallar', { nodes: 1, processes: 1 }),
    'gjallar-nodes-2-redis': clustered('gjallar', { bus: 'redis' }),
    'gjallar-nodes-2-frames': clustered('gjallar', { bus: 'redis-frames' }),
    'gjallar-nodes-2-nats': clustered('gjallar', { bus: 'nats' }),
  },
  cells: (quick) => [
    { ...cellOf(2, 20), label: 'lone messages: rooms of 2, 20 messages/s' },
    ...(quick ? [10] : [10, 2, 100]).flatMap((members) => [
      ...(quick ? [1000, 10_000] : [1000, 4000, 10_000]).map((rate) => cellOf(members, rate)),
      {
        label: `rooms of ${members} at saturation: each is offered 10% more than it takes`,
        ...{ clients: CLIENTS, members },
      },
    ]),
  ],
  columns: columns(`×cpuPerMessage brokerPerMessage frames ×messages ${latencyAndUsage}`),
  run: runRooms,
};

/** What it costs that a room spans workers: the CPU of all of them and of the primary, Redis told apart. */
export const workers = {
  about: 'one room with 10 publishers, or rooms whose members publish, on one or two workers of the service',
  peers: workerPeers,
  cells: (quick) => [...workerCells(quick), cellOf(10, 5000)],
  columns: workerColumns,
  run: (row) => (row.cell.members ? runRooms(row) : runRoom(row)),
};
