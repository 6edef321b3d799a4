/**
 * The private parts of node:cluster that gjallar relies on: what its primary and its workers say to each other about connections.
 * Checked against Node.js 20.20. `test/host/run/killed.test.ts` fails if they are otherwise.
 */
import type { Worker } from 'node:cluster';
import type { EventEmitter } from 'node:events';
import { replaceMethod } from '../../base/foreign-objects.private.js';

/** Those of node:cluster have numbers. An answer names that of its question. */
interface Message {
  readonly cmd?: unknown;
  readonly act?: unknown;
  readonly seq?: number;
  readonly ack?: number;
}

/**
 * Where the primary listens, it keeps each connection until a worker has accepted it. One that a worker was given and did not
 * accept before it died stays open in Node.js, and its client waits for ever. This closes it, as the system closes those that
 * had been accepted.
 */
export function closeUnaccepted(worker: Worker): void {
  const unaccepted = new Set<number>();
  let isDisconnected = false;
  const { process } = worker;
  const channel: EventEmitter = process;
  replaceMethod(process, 'send', (_process, args, send) => {
    const { cmd, act, seq } = (args[0] ?? {}) as Message;
    if (cmd === 'NODE_CLUSTER' && act === 'newconn' && seq !== undefined) unaccepted.add(seq);
    return send(...args);
  });
  channel.on('internalMessage', ({ ack }: Message) => {
    if (ack !== undefined) unaccepted.delete(ack);
  });
  channel.once('disconnect', () => {
    isDisconnected = true;
  });
  // It is dead, and all that it had answered is read.
  channel.once('close', () => {
    // Node.js waits for the worker to confirm a connection, and until then, node:cluster would give it more of them.
    if (!isDisconnected) channel.emit('disconnect');
    // node:cluster closes what is answered with this.
    for (const ack of unaccepted) channel.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: true });
  });
}
