import { setTimeout as sleep } from 'node:timers/promises';
import { alsoInArena } from './arena.js';
import { columns, quantiles, shown } from './columns.js';
import { cpuPer, measured } from './measured.js';
import { CHAT, REST, SMALL, sampling } from './room.js';

const CLIENTS = 500;
const TEXT = 44;
/** Presence after the joins, in ms. */
const SETTLING = 3000;

/**
 * Many rooms whose members publish: each message goes to all members of its room, the sender too. A server's cost is
 * stated per message, because what a message costs beside its deliveries is what rooms of this size show. A cell has
 * `members` of each room, and messages `perSecond`.
 */
const runRooms = measured({
  warmUp: [12, 6],
  window: [10, 4],
  async begin({ fleet, cell: { members, perSecond, clients: count, dialect = CHAT } }) {
    const clients = await fleet.group(count);
    await clients.open();
    await clients.joinRooms(members);
    await sleep(SETTLING);
    const every = sampling(perSecond * members, 14_000);
    await clients.begin('converse', { ...dialect, members, perSecond, size: TEXT, rest: REST, every });
  },
  figures(window, { cell: { members, perSecond } }) {
    const [seen] = window.groups;
    const deliveries = seen.perSecond.received;
    const messages = deliveries / members;
    const broker = window.helpers.redis ?? window.helpers.nats;
    return {
      cpuPerMessage: cpuPer(window, messages),
      brokerPerMessage: broker === undefined ? undefined : (broker * 1e6) / messages,
      messages,
      delivered: (deliveries / (perSecond * members)) * 100,
      ...quantiles(seen.latency),
      ...{ due: perSecond * members, achieved: deliveries },
    };
  },
});

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
    ...(quick ? [10] : [10, 2, 100]).flatMap((members) =>
      (quick ? [1000, 10_000] : [1000, 4000, 10_000]).map((rate) => cellOf(members, rate)),
    ),
  ],
  columns: columns(`×cpuPerMessage brokerPerMessage ×messages ${latencyAndUsage}`),
  run: runRooms,
};
