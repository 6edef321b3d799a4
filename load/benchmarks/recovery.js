import { columns } from './columns.js';
import { cpuPer, measured } from './measured.js';
import { SMALL } from './room.js';

const CLIENTS = 100;

/** Clients that hear what the server publishes, in rooms or alone, with connection state recovery and without. */
const run = measured({
  warmUp: [5, 2],
  window: [15, 4],
  async begin({ fleet }) {
    const clients = await fleet.group(CLIENTS);
    await clients.open();
    await clients.join('room');
    await clients.begin('subscribe', { every: 7, before: SMALL.before, rest: 0 });
  },
  figures(window, { cell }) {
    const [{ perSecond }] = window.groups;
    return {
      cpuPerDelivery: cpuPer(window, perSecond.received),
      bytesPerDelivery: perSecond.bytes / perSecond.received,
      deliveries: perSecond.received,
      due: cell.peer.perSecond * (cell.peer.target === 'room' ? CLIENTS : 1),
      achieved: perSecond.received,
    };
  },
});

const hosted = (count, recovers, more) => {
  const workers = { workers: count, processes: count };
  return { like: 'nodes', service: 'hosted', application: 'recovery', ...workers, recovers, ...more };
};

/** What it costs that the packets which a client may miss are kept. */
export default {
  about: `messages of 40 bytes to ${CLIENTS} clients, with connectionStateRecovery and without, on one worker and on four`,
  peers: {
    'socketio-recovery-off': { like: 'socketio-ws', application: 'recovery' },
    'socketio-recovery-on': { like: 'socketio-recovery', application: 'recovery' },
    'gjallar-recovery-off': hosted(1, false),
    'gjallar-recovery-on': hosted(1, true),
    'gjallar-recovery-4-off': hosted(4, false),
    'gjallar-recovery-4-on': hosted(4, true),
    'gjallar-recovery-4-held': hosted(4, true, { recovery: { killedWorkers: false } }),
  },
  cells: () => [
    { label: 'to a room of 100, 200 messages/s', peer: { target: 'room', perSecond: 200 } },
    { label: 'to one socket after the other, 4,000 messages/s', peer: { target: 'own', perSecond: 4000 } },
  ],
  columns: columns('×cpuPerDelivery bytesPerDelivery deliveries average p99 server generatorCpu'),
  run,
};
