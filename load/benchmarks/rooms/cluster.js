import { shown } from '../shown.js';
import { roomsColumns, runRooms } from './rooms.js';

const CLIENTS = 500;

const stock = { program: 'socketio-nodes', nodes: 2, processes: 2 };
const gjallar = (more) => ({ program: 'gjallar-nodes', nodes: 2, processes: 2, ...more });

/** Machines with workers, each machine with a hub or without. */
const placement = (name, more) => ({
  [`gjallar-${name}-frames`]: gjallar({ ...more, processes: more.nodes * more.workers, bus: 'redis-frames' }),
  [`gjallar-${name}-hub`]: gjallar({ ...more, processes: more.nodes * more.workers, bus: 'redis-hub' }),
});

/** What it costs that the members of a room are on two machines. */
export const cluster = {
  about: `${CLIENTS} clients of a chat in rooms on two nodes joined by a broker, the members of each room on both`,
  peers: {
    'socketio-nodes-2': stock,
    'gjallar-nodes-1': gjallar({ nodes: 1, processes: 1 }),
    'gjallar-nodes-2-redis': gjallar({ bus: 'redis' }),
    'gjallar-nodes-2-frames': gjallar({ bus: 'redis-frames' }),
    'gjallar-nodes-2-nats': gjallar({ bus: 'nats' }),
    ...placement('2x1', { nodes: 2, workers: 1 }),
    ...placement('2x2', { nodes: 2, workers: 2 }),
    ...placement('4x2', { nodes: 4, workers: 2 }),
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
