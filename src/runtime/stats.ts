import type { Server } from 'socket.io';
import { privateParts } from '../compat/socket-io-server.js';
import type { Metric } from '../operations/metrics/metric.js';
import type { MachineWorker } from './machine-worker.js';

/** What a worker reports about its clients. */
export interface WorkerStats {
  id: number;
  pid: number;
  /** The time since the start of the worker, in seconds. */
  uptime: number;
  /** The number of Engine.IO sessions. */
  clients: number;
  /** The number of sockets in each namespace. */
  namespaces: Record<string, number>;
}

/** The largest number of namespaces with a count of their own. Applications may create one for each user. */
const MAX_NAMESPACES = 100;
/** The name under which all other namespaces are counted. */
const OTHERS = '(others)';

export function statsOf({ mesh, engines, servers }: MachineWorker): WorkerStats {
  return {
    id: mesh.id,
    pid: process.pid,
    uptime: Math.round(process.uptime()),
    clients: engines.reduce((count, { clientsCount }) => count + clientsCount, 0),
    namespaces: Object.fromEntries(socketsByNamespace(servers)),
  };
}

/** The number of sockets in each namespace of the servers. */
export function socketsByNamespace(servers: Iterable<Server>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const server of servers) {
    for (const [name, { sockets }] of privateParts(server)._nsps) {
      const key = counts.has(name) || counts.size < MAX_NAMESPACES ? name : OTHERS;
      counts.set(key, (counts.get(key) ?? 0) + sockets.size);
    }
  }
  return counts;
}

/** The metrics of the namespaces of an application. */
export function namespaceMetrics(servers: readonly Server[]): Metric[] {
  return [
    {
      name: 'gjallar_namespace_sockets',
      type: 'gauge',
      help: `Sockets connected to each namespace; those beyond ${MAX_NAMESPACES} namespaces are counted together.`,
      labels: ['namespace'],
      read: () => socketsByNamespace(servers),
    },
  ];
}
