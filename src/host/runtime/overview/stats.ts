import type { Server } from 'socket.io';
import type { Metric } from '../../../base/metric.js';
import { privateParts } from '../../../io/socket-io-server.private.js';
import type { MachineWorker } from '../machine-worker.js';

/** The largest number of namespaces with a count of their own. Applications may create one for each user. */
const MAX_NAMESPACES = 100;
/** The longest name that is a label, in UTF-16 characters. Clients choose the names of dynamic namespaces. */
const MAX_LENGTH = 128;
/** The name under which all other namespaces are counted. */
const OTHERS = '(others)';

/**
 * The names that metrics of this process have as labels. A name keeps its label for the life of the process: namespaces
 * that come and go would otherwise leave a new time series each.
 */
class NamespaceLabels {
  private readonly names = new Set<string>();

  of(name: string): string {
    if (this.names.has(name)) return name;
    if (this.names.size >= MAX_NAMESPACES || name.length > MAX_LENGTH) return OTHERS;
    this.names.add(name);
    return name;
  }
}

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
export function socketsByNamespace(servers: Iterable<Server>, labels = new NamespaceLabels()): Map<string, number> {
  const counts = new Map<string, number>();
  for (const server of servers) {
    for (const [name, { sockets }] of privateParts(server)._nsps) {
      const key = labels.of(name);
      counts.set(key, (counts.get(key) ?? 0) + sockets.size);
    }
  }
  return counts;
}

/** The metrics of the namespaces of an application. */
export function namespaceMetrics(servers: readonly Server[]): Metric[] {
  const labels = new NamespaceLabels();
  return [
    {
      name: 'gjallar_namespace_sockets',
      type: 'gauge',
      help: `Sockets connected to each namespace; those beyond the first ${MAX_NAMESPACES} namespaces are counted together.`,
      labels: ['namespace'],
      read: () => socketsByNamespace(servers, labels),
    },
  ];
}
