import { measure, usageOf } from '../harness/row/measure.js';
import { keptUp } from '../harness/row/verdict.js';
import { latencyColumns, latencyOf, usageColumns } from './columns.js';
import { APPLICATION } from './rooms/room.js';

const CLIENTS = 100;

/** Clients that hear what the server publishes, in rooms or alone, with connection state recovery and without. */
async function run({ peer, fleet, cell, quick }) {
  const { perSecond, target } = cell.peer;
  const clients = await fleet.group(CLIENTS);
  await clients.open();
  await clients.join('room');
  await clients.begin('subscribe', { every: 7, before: APPLICATION.before, rest: 0 });
  const measured = await measure({ peer, fleet, warmUp: quick ? 2 : 5, window: quick ? 4 : 15 });
  const [{ perSecond: rates, total, latency }] = measured.groups;
  const offered = perSecond * (target === 'room' ? CLIENTS : 1);
  return {
    cpuPerDelivery: (measured.server * 1e6) / rates.received,
    bytesPerDelivery: rates.bytes / rates.received,
    deliveries: rates.received,
    ...latencyOf(latency),
    errors: total.errors,
    ended: total.ended,
    ...keptUp(offered, rates.received, measured.server / (peer.cores?.length ?? 1)),
    ...usageOf(measured),
  };
}

const hosted = (recovers, more) => ({
  program: 'hosted-nodes',
  application: 'state/recovery-program',
  recovers,
  ...more,
});
const workers = (count) => ({ workers: count, processes: count });

/** What it costs that the packets which a client may miss are kept. */
export default {
  about: `messages of 40 bytes to ${CLIENTS} clients, with connectionStateRecovery and without, on one worker and on four`,
  peers: {
    'socketio-recovery-off': hosted(false, { stock: true }),
    'socketio-recovery-on': hosted(true, { stock: true }),
    'gjallar-recovery-off': hosted(false, workers(1)),
    'gjallar-recovery-on': hosted(true, workers(1)),
    'gjallar-recovery-4-off': hosted(false, workers(4)),
    'gjallar-recovery-4-on': hosted(true, workers(4)),
  },
  cells: () => [
    { label: 'to a room of 100, 200 messages/s', peer: { target: 'room', perSecond: 200 } },
    { label: 'to one socket after the other, 4,000 messages/s', peer: { target: 'own', perSecond: 4000 } },
  ],
  columns: [
    { key: 'cpuPerDelivery', title: 'CPU µs/delivery', digits: 2, ratio: true },
    { key: 'bytesPerDelivery', title: 'bytes/delivery', digits: 0 },
    { key: 'deliveries', title: 'deliveries/s', digits: 0 },
    ...latencyColumns,
    ...usageColumns,
  ],
  run,
};
