import { shown } from '../shown.js';
import { roomsColumns, runRooms } from './rooms.js';

const CLIENTS = 500;

const stock = { program: 'socketio-nodes', nodes: 2, processes: 2 };
const gjallar = (more) => ({ program: 'gjallar-nodes', nodes: 2, processes: 2, ...more });

/** What it costs that the members of a room are on two machines. */
export const cluster = {
  about: `${CLIENTS} clients of a chat in rooms on two nodes joined by a broker, the members of each room on both`,
  peers: {
    'socketio-nodes-2': stock,
    'gjallar-nodes-1': gjallar({ nodes: 1, processes: 1 }),
    'gjallar-nodes-2-redis': gjallar({ bus: 'redis' }),
    'gjallar-nodes-2-frames': gjallar({ bus: 'redis-frames' }),
    'gjallar-nodes-2-nats': gjallar({ bus: 'nats' }),
  },
  cells: (quick) => [
    { label: 'lone messages: rooms of 2, 20 messages/s', clients: CLIENTS, members: 2, perSecond: 20 },
    ...(quick ? [10] : [10, 2, 100]).flatMap((members) => [
      ...(quick ? [1000, 10_000] : [1000, 4000, 10_000]).map((perSecond) => ({
        label: `rooms of ${members}, ${shown(perSecond)} messages/s`,
        clients: CLIENTS,
        members,
        perSecond,
      })),
      { label: `rooms of ${members} at saturation: each is offered 10% more than it takes`, clients: CLIENTS, members },
    ]),
  ],
  columns: roomsColumns,
  run: runRooms,
};

const windowed = (flushMs, more) => gjallar({ ...more, env: { FLUSH_MS: String(flushMs) } });
const alone = { nodes: 1, processes: 1 };

/** What a frame between two nodes costs, and what a message in it: the same messages in fewer and in more frames. */
export const frames = {
  about: 'the same chat with windows of 25 ms and of 2 ms, so that its messages cross in few frames and in many',
  peers: {
    'gjallar-nodes-1-25ms': windowed(25, alone),
    'gjallar-nodes-2-25ms': windowed(25, { bus: 'redis-frames' }),
    'gjallar-nodes-1-2ms': windowed(2, alone),
    'gjallar-nodes-2-2ms': windowed(2, { bus: 'redis-frames' }),
  },
  cells: () => [{ label: 'rooms of 10, 4,000 messages/s', clients: CLIENTS, members: 10, perSecond: 4000, warmUp: 30 }],
  columns: roomsColumns,
  run: runRooms,
};

const placed = (nodes, more) =>
  gjallar({ nodes, processes: nodes, bus: 'redis-frames', proxy: 'place', apart: true, ...more });
const spread = { proxy: 'spread', apart: true };

/** What it saves that a proxy brings the members of a room to one node: `cluster --place`. */
export const placement = {
  about:
    'rooms of 10 and of 1,000 on one, two and four hosts (network namespaces) behind HAProxy, the members of each room on ' +
    'one of them or on all',
  peers: {
    'socketio-nodes-2-spread': { ...stock, ...spread },
    'gjallar-nodes-1-proxy': placed(1, { ...alone, bus: 'embedded', ...spread }),
    'gjallar-nodes-2-spread': placed(2, spread),
    'gjallar-nodes-2-placed': placed(2),
    'gjallar-nodes-4-spread': placed(4, spread),
    'gjallar-nodes-4-placed': placed(4),
  },
  cells: (quick) => [
    ...[1000, 4000, 10_000].map((perSecond) => placementCell(10, CLIENTS, perSecond)),
    // What one of two or four nodes has to do where all of them get 4,000 messages/s.
    ...[250, 125].map((clients) => ({
      ...placementCell(10, clients, 8 * clients),
      label: `rooms of 10, ${shown(8 * clients)} messages/s, ${clients} clients`,
    })),
    // Each room is on one node, so that several rooms share the work.
    ...(quick ? [100] : [100, 1000]).map((perSecond) => placementCell(1000, 8000, perSecond)),
  ],
  columns: [
    ...roomsColumns.slice(0, 2),
    { key: 'proxyPerMessage', title: 'proxy µs/message', digits: 1 },
    ...roomsColumns.slice(2),
  ],
  run: runRooms,
};

function placementCell(members, clients, perSecond) {
  const label = `rooms of ${shown(members)}, ${shown(perSecond)} messages/s`;
  return { label, clients, members, perSecond, behindProxy: true };
}
