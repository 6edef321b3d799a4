import type { Socket } from 'socket.io';
import type { Adapter, SocketId } from 'socket.io-adapter';
import type { Engine } from '../../engine/engine.js';
import type { Session } from '../../engine/session/session.js';
import { ANY_OUTGOING_LISTENERS, type BroadcastPacket, notifyOutgoingListeners } from '../socket-io.private.js';
import type { EncodedPackets } from './encoded-packet.js';

const LISTENERS = Symbol('any outgoing listeners');

/** The private fields of a socket that are used here. */
interface Inside {
  [ANY_OUTGOING_LISTENERS]?: unknown[];
  [LISTENERS]?: unknown[];
  readonly id: SocketId;
  readonly adapter: Adapter;
}

const socketsOf = new WeakMap<Adapter, Set<SocketId>>();

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
    socketsOf.get(this.adapter)?.add(this.id);
  },
};

/** A message of a broadcast, in the form that listeners of `packetCreate` get. */
interface CreatedPacket {
  readonly type: 'message';
  readonly data: string | Buffer;
  readonly options: { readonly compress: boolean; readonly volatile: boolean | undefined };
}

/**
 * Calls the listeners of `onAnyOutgoing()` and `packetCreate` for what a topic delivers, which bypasses both. While no
 * socket has such a listener, a broadcast looks at none of its recipients.
 */
export class OutgoingListeners {
  /** The sockets of this namespace with a listener of `onAnyOutgoing()`. */
  private readonly sockets = new Set<SocketId>();

  constructor(
    adapter: Adapter,
    private readonly engine: Pick<Engine, 'packetListeners'>,
  ) {
    socketsOf.set(adapter, this.sockets);
  }

  /** Starts to watch a socket. */
  watch(socket: Socket): void {
    const inside = socket as unknown as Inside;
    // A middleware may have added listeners already.
    const before = Object.hasOwn(inside, ANY_OUTGOING_LISTENERS) ? inside[ANY_OUTGOING_LISTENERS] : undefined;
    Object.defineProperty(inside, ANY_OUTGOING_LISTENERS, accessor);
    if (before) inside[ANY_OUTGOING_LISTENERS] = before;
  }

  forget(id: SocketId): void {
    this.sockets.delete(id);
  }

  get isEmpty(): boolean {
    return this.sockets.size === 0 && this.engine.packetListeners.size === 0;
  }

  /** @returns a function that calls the listeners of one recipient of a broadcast */
  callerFor(
    packet: BroadcastPacket,
    encoded: EncodedPackets,
    flags: { compress?: boolean; volatile?: boolean } = {},
  ): (socket: Socket, isDropped: boolean) => void {
    const options = { compress: flags.compress !== false, volatile: flags.volatile };
    // Recipients share the packets: a copy for each of them would cost more than the delivery.
    const created = encoded.map((data): CreatedPacket => Object.freeze({ type: 'message', data, options }));
    return (socket, isDropped) => {
      if (this.sockets.has(socket.id)) notifyOutgoingListeners(socket, packet);
      const session = socket.conn as unknown as Session;
      if (isDropped || !this.engine.packetListeners.has(session)) return;
      for (const one of created) session.emit('packetCreate', one);
    };
  }
}
