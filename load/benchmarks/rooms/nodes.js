import { shown } from '../shown.js';
import { CHAT, REST, roomColumns, runRoom } from './room.js';
import { runRooms } from './rooms.js';
import { workload1Cells } from './workload-1.js';

const columns = [...roomColumns, { key: 'redisCpu', title: 'Redis %', digits: 0 }];

const socketio = (nodes) => ({ program: 'socketio-nodes', nodes, processes: nodes });
const gjallar = (nodes) => ({ program: 'gjallar-nodes', nodes, processes: nodes });

/** Workload 1: a chat on one node and, joined by Redis, on several. */
export const nodes = {
  about: 'a chat on several nodes joined by Redis; the nodes and Redis share the cores that the generators leave free',
  peers: {
    'socketio-nodes-1': socketio(1),
    'socketio-nodes-2': socketio(2),
    'socketio-nodes-4': socketio(4),
    'gjallar-nodes-1': gjallar(1),
    'gjallar-nodes-2': gjallar(2),
    'gjallar-nodes-4': gjallar(4),
  },
  cells: (quick) => {
    const chosen = quick ? workload1Cells([[1000, 10]]) : workload1Cells();
    return chosen.map((cell) => ({ ...cell, dialect: CHAT }));
  },
  columns,
  run: runRoom,
};

const service = (workers, more = {}) => ({ program: 'gjallar-nodes', workers, processes: workers, ...more });

/** What it costs that a room spans workers: the CPU of all of them and of the primary, Redis told apart. */
export const workers = {
  about: 'one room with 10 publishers, or rooms whose members publish, on one or two workers of the service',
  peers: {
    'gjallar-workers-1': service(1),
    'gjallar-workers-2': service(2, { bus: 'embedded' }),
    'gjallar-workers-2-redis': service(2, { bus: 'redis', redis: true }),
  },
  cells: (quick) => {
    const cells = [
      // So few deliveries that what remains is the message itself, and the bus.
      [10, 1000],
      [1000, 400],
      [2000, 400],
      [1000, 1000],
      [1000, 4000],
    ].map(([subscribers, perSecond]) => ({
      label: `${shown(subscribers)} members, ${shown(perSecond)} messages/s`,
      subscribers,
      publishers: 10,
      perSecond,
      rest: REST,
      dialect: CHAT,
      // V8 goes on compiling for as long as that at such rates, in each worker by itself.
      warmUp: quick ? 20 : 50,
    }));
    const rooms = { label: 'rooms of 10, 5,000 messages/s', clients: 500, members: 10, perSecond: 5000 };
    return [...(quick ? cells.slice(0, 2) : cells), rooms];
  },
  columns: [{ key: 'cpuPerMessage', title: 'CPU µs/message', digits: 1, ratio: true }, ...columns],
  run: (row) => (row.cell.members ? runRooms(row) : runRoom(row)),
};
