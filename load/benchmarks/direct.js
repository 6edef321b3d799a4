import { columns } from './columns.js';
import { cpuPer, measured } from './measured.js';
import { SMALL } from './room.js';

const CLIENTS = 400;
const SIZE = 44;

const roles = {
  direct: { ...SMALL, size: SIZE, every: 1, rest: 0 },
  echo: { event: 'echo', size: SIZE },
};

/** Clients that write to the socket of another one, and, to compare with, clients that are answered. */
const run = measured({
  warmUp: [10, 5],
  window: [15, 6],
  async begin({ fleet, cell: { role, perSecond } }) {
    const clients = await fleet.group(CLIENTS);
    await clients.open();
    await clients.begin(role, { ...roles[role], perSecond });
  },
  figures(window, { cell: { perSecond } }) {
    const [seen] = window.groups;
    const { received } = seen.perSecond;
    return { cpuPerMessage: cpuPer(window, received), perSecond: received, due: perSecond, achieved: received };
  },
});

const hosted = (more) => ({ like: 'nodes', service: 'hosted', application: 'small', ...more });
const workers = (count, more) => hosted({ workers: count, processes: count, ...more });

/** What a message to one socket costs by the number of workers, beside an answer on the same ones. */
export default {
  about: `messages of ${SIZE} bytes from each of ${CLIENTS} clients to the socket of another one, with io.to(socketId).emit()`,
  peers: {
    'socketio-direct': hosted({ stock: true }),
    'gjallar-direct-1': workers(1),
    'gjallar-direct-2': workers(2),
    'gjallar-direct-4': workers(4),
    'gjallar-direct-2-recovery': workers(2, { recovers: true }),
    'gjallar-direct-4-recovery': workers(4, { recovers: true }),
    'gjallar-direct-4-held': workers(4, { recovers: true, recovery: { killedWorkers: false } }),
  },
  cells: () =>
    [2000].flatMap((perSecond) => [
      { label: `echo, ${perSecond} messages/s`, role: 'echo', perSecond },
      { label: `to one socket, ${perSecond} messages/s`, role: 'direct', perSecond },
    ]),
  columns: columns('×cpuPerMessage perSecond ×average p99 server generatorCpu'),
  run,
};
