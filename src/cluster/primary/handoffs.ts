import type { ChildProcess } from 'node:child_process';

/** The messages of node:cluster that hand a connection to a worker, and the one that confirms them. */
interface ClusterMessage {
  act?: string;
  seq?: number;
  ack?: number;
}

/**
 * Closes the connections that a worker has not confirmed when its process ends. node:cluster keeps its copy of each until
 * then, so that the client of one that a killed worker never read would wait for ever. With native sockets, workers accept
 * connections themselves.
 */
export function closeUnconfirmed(worker: ChildProcess): void {
  const handed = new Map<number, { close(): void }>();
  const send = worker.send.bind(worker) as (...values: unknown[]) => boolean;
  worker.send = (message: unknown, handle?: unknown, ...others: unknown[]) => {
    const { act, seq } = Object(message) as ClusterMessage;
    if (act === 'newconn' && seq !== undefined && handle) handed.set(seq, handle as { close(): void });
    return send(message, handle, ...others);
  };
  worker.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) handed.delete(ack);
  });
  worker.once('exit', () => {
    for (const handle of handed.values()) handle.close();
    handed.clear();
  });
}
