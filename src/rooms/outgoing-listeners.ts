import type { Socket } from 'socket.io';
import type { Adapter } from 'socket.io-adapter';
import { ANY_OUTGOING_LISTENERS } from '../compat/socket-io.js';

const LISTENERS = Symbol('any outgoing listeners');

/** The private fields of a socket that are used here. */
interface Inside {
  [ANY_OUTGOING_LISTENERS]?: unknown[];
  [LISTENERS]?: unknown[];
  readonly adapter: Adapter;
}

const onObserved = new WeakMap<Adapter, (socket: Socket) => void>();

/**
 * Shared by all sockets, and free for each of them: V8 keeps an accessor with the hidden class. A socket without
 * listeners does not even have the field behind it.
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
 * Reports each socket that gets a listener with `onAnyOutgoing()`. Such a listener must see broadcasts too, but a topic
 * does not call it. Checking every socket on every broadcast would cost what topics save.
 */
export class OutgoingListeners {
  /** @param tell called with each socket that gets a listener */
  constructor(adapter: Adapter, tell: (socket: Socket) => void) {
    onObserved.set(adapter, tell);
  }

  /** Starts to watch a socket. */
  watch(socket: Socket): void {
    const inside = socket as unknown as Inside;
    // A middleware may have added listeners already.
    const before = Object.hasOwn(inside, ANY_OUTGOING_LISTENERS) ? inside[ANY_OUTGOING_LISTENERS] : undefined;
    Object.defineProperty(inside, ANY_OUTGOING_LISTENERS, accessor);
    if (before) inside[ANY_OUTGOING_LISTENERS] = before;
  }
}

/** Whether a listener wants to see each packet that is sent to the socket. */
export function isObserved(socket: Socket): boolean {
  const { [LISTENERS]: listeners } = socket as unknown as Inside;
  return listeners !== undefined || socket.conn.listenerCount('packetCreate') > 0;
}
