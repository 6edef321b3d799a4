import type { Server, Socket } from 'socket.io';
import { replaceMethod } from '../base/foreign-objects.private.js';
import { isConnecting } from './rooms/namespaces.js';
import type { NamespaceClient } from './socket-io.private.js';

/**
 * The private parts of socket.io with which a client goes on on another worker. Checked against socket.io 4.6 to 4.8.
 * `test/io/moving-clients.test.ts` fails if a new version breaks one of them.
 */
export interface MovingClient extends NamespaceClient {
  readonly server: Server;
  readonly sockets: ReadonlyMap<string, Socket>;
  readonly decoder: { readonly reconstructor?: object | null };
}

/** The parts of a socket that tell what it waits for. */
interface Work {
  /** Acknowledgements that the client owes. */
  readonly acks: ReadonlyMap<number, unknown>;
  /** The middleware of `socket.use()`. */
  readonly fns: readonly unknown[];
}

const clients = new WeakMap<object, MovingClient>();
/** How many events of a socket wait for their acknowledgement by the application, or for middleware of `socket.use()`. */
const unanswered = new WeakMap<object, number>();
const watched = new WeakSet<object>();

/** Remembers the client of a socket, and counts what the application owes it from now on. */
export function noteClient(socket: Socket): void {
  clients.set(socket.conn, socket.client as unknown as MovingClient);
  const prototype = Object.getPrototypeOf(socket) as object;
  if (watched.has(prototype)) return;
  watched.add(prototype);
  replaceMethod(prototype, 'ack', (one, args, acknowledge) => once(one, acknowledge(...args)));
  replaceMethod(prototype, 'run', (one, [event, next], run) => {
    if ((one as Work).fns.length === 0) return run(event, next);
    return run(event, once(one, next as () => void));
  });
}

/** Counts a function of a socket as work until it is called for the first time. */
function once(socket: object, answer: (...values: unknown[]) => void): (...values: unknown[]) => void {
  count(socket, 1);
  let isOver = false;
  return (...values) => {
    if (!isOver) count(socket, -1);
    isOver = true;
    answer(...values);
  };
}

function count(socket: object, by: 1 | -1): void {
  unanswered.set(socket, (unanswered.get(socket) ?? 0) + by);
}

/** The client of a session; undefined if it has connected to no namespace with recovery. */
export const clientOf = (session: object): MovingClient | undefined => clients.get(session);

/** Whether something of a client is in progress: events without their acknowledgement, in either direction, or a namespace that it enters. */
export function isBusy(client: MovingClient): boolean {
  if (isConnecting(client) || client.decoder.reconstructor) return true;
  const sockets = [...client.sockets.values()];
  return sockets.some((socket) => (unanswered.get(socket) ?? 0) > 0 || (socket as unknown as Work).acks.size > 0);
}

/** A namespace that a client is in, and the `auth` with which it returns. */
export interface Connect {
  readonly nsp: string;
  readonly auth: { readonly pid: string; readonly offset: string };
}

/** The CONNECT packets of a client, as it would send them. */
export function encodeConnects({ encoder }: Server, connects: readonly Connect[]): unknown[] {
  const CONNECT = 0;
  return connects.flatMap(({ nsp, auth }) => encoder.encode({ type: CONNECT, nsp, data: auth } as never) as unknown[]);
}
