import type { Mesh } from '../cluster/mesh.js';
import type { Bus } from '../rooms/bus/bus.js';
import type { Metric } from './metric.js';

/** What joins the workers. */
export function busMetrics({ name, traffic }: Bus, mesh: Mesh): Metric[] {
  return [
    {
      name: 'gjallar_bus_up',
      type: 'gauge',
      help: 'Whether the worker reaches the others over the bus.',
      labels: ['bus'],
      read: () => [[name, Number(traffic.isUp)]],
    },
    {
      name: 'gjallar_bus_outages_total',
      type: 'counter',
      help: 'How often the bus was away.',
      read: () => traffic.outages,
    },
    {
      name: 'gjallar_bus_unsent_total',
      type: 'counter',
      help: 'Messages to other workers that were given up because the bus was away or too slow.',
      read: () => traffic.unsent,
    },
    {
      name: 'gjallar_bus_pending_bytes',
      type: 'gauge',
      help: 'Bytes that are on their way to the bus.',
      read: () => traffic.pendingBytes,
    },
    {
      name: 'gjallar_mesh_pending_bytes',
      type: 'gauge',
      help: 'Bytes that other workers of this machine have not read yet: one that is stuck lets them grow.',
      read: () => mesh.pendingBytes,
    },
  ];
}
