import type { Socket } from 'socket.io';
import type { Adapter } from 'socket.io-adapter';
import { ANY_OUTGOING_LISTENERS } from '../compat/socket-io.js';

const LISTENERS = Symbol('any outgoing listeners');

/** What is inside of a socket. */
interface Inside {
  [ANY_OUTGOING_LISTENERS]?: unknown[];
  [LISTENERS]?: unknown[];
  readonly adapter: Adapter;
}

const onObserved = new WeakMap<Adapter, (socket: Socket) => void>();

/**
 * Shared by all sockets, so that it costs none of them anything: V8 keeps an accessor with the hidden class. A socket
 * without listeners has no field behind it either.
 */
const accessor: PropertyDescriptor & ThisType<Inside> = {
  configurable: true,
  enumerable: false,
  get() {
    return this[LISTENERS];
  },
  set(listeners: unknown[]) {
    this[LISTENERS] = listeners;
    onObserved.get(this.adapter)?.(this as unknown as Socket);
  },
};

/**
 * Tells of sockets that get listeners with `onAnyOutgoing()`. Those are to be told of broadcasts too, which a topic
 * does not do, and asking each socket for each broadcast is what topics are there to spare.
 */
export class OutgoingListeners {
  /** @param tell called with each socket that gets a listener */
  constructor(adapter: Adapter, tell: (socket: Socket) => void) {
    onObserved.set(adapter, tell);
  }

  /** Begins to look after a socket. */
  watch(socket: Socket): void {
    const inside = socket as unknown as Inside;
    // A middleware may have added listeners already.
    const before = Object.hasOwn(inside, ANY_OUTGOING_LISTENERS) ? inside[ANY_OUTGOING_LISTENERS] : undefined;
    Object.defineProperty(inside, ANY_OUTGOING_LISTENERS, accessor);
    if (before) inside[ANY_OUTGOING_LISTENERS] = before;
  }
}

/** Whether somebody wants to see each packet that the socket is sent. */
export function isObserved(socket: Socket): boolean {
  const { [LISTENERS]: listeners } = socket as unknown as Inside;
  return listeners !== undefined || socket.conn.listenerCount('packetCreate') > 0;
}
