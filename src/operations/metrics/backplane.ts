import type { Mesh } from '../../cluster/mesh/mesh.js';
import type { Backplane } from '../../rooms/backplanes/backplane.js';
import { counter, gauge, type Metric } from './metric.js';

/** The metrics of the connections between workers. */
export function backplaneMetrics({ name, traffic }: Backplane, mesh: Mesh): Metric[] {
  return [
    {
      name: 'gjallar_bus_up',
      type: 'gauge',
      help: 'Whether the backplane of the worker is up.',
      labels: ['bus'],
      read: () => [[name, Number(traffic.isUp)]],
    },
    counter('gjallar_bus_outages_total', 'Outages of the backplane.', () => traffic.outages),
    counter(
      'gjallar_bus_unsent_total',
      'Messages to other workers that were dropped because the backplane was down or too slow.',
      () => traffic.unsent,
    ),
    gauge(
      'gjallar_bus_pending_bytes',
      'Bytes sent to the backplane that it has not confirmed yet.',
      () => traffic.pendingBytes,
    ),
    gauge(
      'gjallar_mesh_pending_bytes',
      'Bytes that other workers of this machine have not read yet. They grow when a worker is stuck.',
      () => mesh.pendingBytes,
    ),
  ];
}
