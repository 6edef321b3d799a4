import type { Mesh } from '../../cluster/mesh/mesh.js';
import type { Backplane } from '../../rooms/backplanes/backplane.js';
import { counter, gauge, type Metric } from './metric.js';

/** What joins the workers. */
export function backplaneMetrics({ name, traffic }: Backplane, mesh: Mesh): Metric[] {
  return [
    {
      name: 'gjallar_bus_up',
      type: 'gauge',
      help: 'Whether the worker reaches the others over the bus.',
      labels: ['bus'],
      read: () => [[name, Number(traffic.isUp)]],
    },
    counter('gjallar_bus_outages_total', 'How often the bus was away.', () => traffic.outages),
    counter(
      'gjallar_bus_unsent_total',
      'Messages to other workers that were given up because the bus was away or too slow.',
      () => traffic.unsent,
    ),
    gauge('gjallar_bus_pending_bytes', 'Bytes that are on their way to the bus.', () => traffic.pendingBytes),
    gauge(
      'gjallar_mesh_pending_bytes',
      'Bytes that other workers of this machine have not read yet: one that is stuck lets them grow.',
      () => mesh.pendingBytes,
    ),
  ];
}
