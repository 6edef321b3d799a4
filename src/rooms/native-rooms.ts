import type { Namespace, Socket } from 'socket.io';
import type { Adapter, BroadcastOptions, Room, SocketId } from 'socket.io-adapter';
import type { Engine } from '../engine/engine.js';
import { isNative, type NativeChannel } from '../engine/exchange.js';
import type { Session } from '../engine/session.js';
import { WebSocketTransport } from '../engine/transports/websocket.js';
import { EncodedPacket, type EncodedPackets } from './encoded-packet.js';
import { isObserved, Observers } from './observers.js';

/** Makes the adapter of a namespace, as `io.adapter()` takes it. */
export type AdapterFactory = (nsp: Namespace) => Adapter;

/** Calls back for each socket that is to get a broadcast, as the base adapter's `apply` does. */
type Deliver = (socket: Socket) => void;

/** The steps of a broadcast in socket.io-adapter: first `_encode`, then `apply`. */
interface BroadcastSteps {
  _encode(packet: BroadcastPacket, options: object): EncodedPackets;
  apply(options: BroadcastOptions, deliver: Deliver): void;
}

interface BroadcastPacket {
  /** Set when acknowledgements are expected, which have to be noted socket by socket. */
  id?: number;
}

/** A room that was broadcast to: a topic, and the members whom topics do not reach. */
interface Topic {
  readonly name: string;
  readonly strays: Set<SocketId>;
}

/** Below so many members, sending to each is as cheap as a topic. */
const FEWEST_FOR_TOPIC = 3;

/** The room that all sockets of the namespace are in. No room of an application is a symbol. */
const ALL = Symbol('all');
type RoomKey = Room | typeof ALL;

/** Separates namespace and room in a topic's name; no namespace contains it. */
const SEPARATOR = '\x1f';

/**
 * Makes rooms of an adapter uWebSockets.js topics, whatever bus the adapter speaks to other workers.
 *
 * A room becomes a topic with the first broadcast to it, so that rooms which only one or two sockets are ever in, such
 * as each socket's own, cost nothing. If the adapter's steps should be named differently one day, broadcasts are
 * delivered by the adapter itself: slower, and still right.
 */
export function withNativeRooms(factory: AdapterFactory, engine: Engine): AdapterFactory {
  // io.adapter() calls it with `new`, which an arrow function does not allow.
  return function nativeRooms(nsp: Namespace): Adapter {
    const adapter = factory(nsp);
    new NativeRooms(adapter, nsp, engine).install();
    return adapter;
  };
}

class NativeRooms {
  private readonly topics = new Map<RoomKey, Topic>();
  private readonly awaitingUpgrade = new Set<SocketId>();
  private readonly observers: Observers;
  private broadcast: { packet: BroadcastPacket; encoded: EncodedPackets } | undefined;

  constructor(
    private readonly adapter: Adapter,
    private readonly nsp: Namespace,
    private readonly engine: Engine,
  ) {
    this.observers = new Observers(adapter, (socket) => this.stray(socket));
  }

  install(): void {
    const { adapter } = this;
    const steps = adapter as unknown as BroadcastSteps;
    const { addAll, del, delAll } = adapter;
    const { apply } = steps;

    adapter.addAll = (id, rooms) => {
      const result = addAll.call(adapter, id, rooms);
      // A socket that is in its own room is connected; what it joined in a middleware counts from then on.
      const socket = this.nsp.sockets.get(id);
      if (!socket) return result;
      if (rooms.has(id)) {
        this.observers.watch(socket);
        this.enter(socket, this.roomsOf(id));
      } else {
        this.enter(socket, rooms);
      }
      return result;
    };
    adapter.del = (id, room) => {
      this.leave(id, room);
      return del.call(adapter, id, room);
    };
    adapter.delAll = (id) => {
      for (const room of this.roomsOf(id)) this.leave(id, room);
      this.awaitingUpgrade.delete(id);
      delAll.call(adapter, id);
    };
    steps._encode = (packet) => {
      const { encoder } = this.nsp.server;
      const encoded =
        packet instanceof EncodedPacket ? packet.encoded : (encoder.encode(packet as never) as EncodedPackets);
      this.broadcast = { packet, encoded };
      return encoded;
    };
    steps.apply = (options, deliver) => {
      const { broadcast } = this;
      this.broadcast = undefined;
      if (!broadcast || broadcast.packet.id !== undefined || !this.fanOut(options, deliver, broadcast.encoded)) {
        apply.call(adapter, options, deliver);
      }
    };
  }

  /** Delivers a broadcast. Returns false when sending to each socket is as cheap. */
  private fanOut(options: BroadcastOptions, deliver: Deliver, encoded: EncodedPackets): boolean {
    const rooms: RoomKey[] = options.rooms.size > 0 ? [...options.rooms] : [ALL];
    rooms.sort((a, b) => this.sizeOf(b) - this.sizeOf(a));
    const [largest, ...others] = rooms as [RoomKey, ...RoomKey[]];
    if (this.sizeOf(largest) < FEWEST_FOR_TOPIC) return false;

    const topic = this.topicOf(largest);
    const done = this.exceptedSids(options);
    const except: NativeChannel[] = [];
    for (const id of done) {
      const channel = this.isMember(largest, id) && !topic.strays.has(id) ? this.nativeChannelOf(id) : undefined;
      if (channel) except.push(channel);
    }
    if (options.flags?.volatile) except.push(...this.congested(largest, topic, done));
    const compress = options.flags?.compress !== false;
    for (const message of encoded) this.publish(topic.name, message, compress, except);

    const send = (id: SocketId) => {
      if (done.has(id)) return;
      done.add(id);
      const socket = this.nsp.sockets.get(id);
      if (socket) deliver(socket);
    };
    for (const id of topic.strays) send(id);
    for (const room of others) {
      for (const id of this.membersOf(room)) if (!this.isMember(largest, id)) send(id);
    }
    return true;
  }

  private publish(topic: string, message: string | Buffer, compress: boolean, except: readonly NativeChannel[]): void {
    const isBinary = typeof message !== 'string';
    // "4" is a message of Engine.IO; binary ones have no such mark on a WebSocket.
    const frame = isBinary ? message : `4${message}`;
    const threshold = this.engine.settings.perMessageDeflate?.threshold;
    const compressed = compress && threshold !== undefined && frame.length >= threshold;
    this.engine.outbox.publish(topic, frame, isBinary, compressed, except);
  }

  private exceptedSids(options: BroadcastOptions): Set<SocketId> {
    const excepted = new Set<SocketId>();
    for (const room of options.except ?? []) for (const id of this.membersOf(room)) excepted.add(id);
    return excepted;
  }

  /** Members that cannot take a volatile packet now. */
  private *congested(room: RoomKey, topic: Topic, done: Set<SocketId>): Iterable<NativeChannel> {
    for (const id of this.membersOf(room)) {
      if (done.has(id) || topic.strays.has(id)) continue;
      const channel = this.nativeChannelOf(id);
      if (channel && channel.getBufferedAmount() > 0) yield channel;
    }
  }

  private membersOf(room: RoomKey): Iterable<SocketId> {
    return room === ALL ? this.adapter.sids.keys() : (this.adapter.rooms.get(room) ?? []);
  }

  private sizeOf(room: RoomKey): number {
    return room === ALL ? this.adapter.sids.size : (this.adapter.rooms.get(room)?.size ?? 0);
  }

  private isMember(room: RoomKey, id: SocketId): boolean {
    return room === ALL ? this.adapter.sids.has(id) : (this.adapter.rooms.get(room)?.has(id) ?? false);
  }

  /** The topic of a room, made with everyone in it if there is none yet. */
  private topicOf(room: RoomKey): Topic {
    const known = this.topics.get(room);
    if (known) return known;
    const topic = { name: this.nsp.name + (room === ALL ? '' : SEPARATOR + room), strays: new Set<SocketId>() };
    this.topics.set(room, topic);
    for (const id of this.membersOf(room)) {
      const socket = this.nsp.sockets.get(id);
      if (socket) this.enterTopic(socket, topic);
    }
    return topic;
  }

  private enter(socket: Socket, rooms: Iterable<RoomKey>): void {
    for (const room of rooms) {
      const topic = this.topics.get(room);
      if (topic) this.enterTopic(socket, topic);
    }
  }

  private enterTopic(socket: Socket, topic: Topic): void {
    const channel = isObserved(socket) ? undefined : this.nativeChannelOf(socket.id);
    if (channel) {
      this.engine.outbox.settle(topic.name);
      channel.subscribe(topic.name);
      return;
    }
    topic.strays.add(socket.id);
    this.awaitUpgrade(socket);
  }

  private leave(id: SocketId, room: RoomKey): void {
    const topic = this.topics.get(room);
    if (!topic || !this.isMember(room, id)) return;
    if (!topic.strays.delete(id)) {
      this.engine.outbox.settle(topic.name);
      this.nativeChannelOf(id)?.unsubscribe(topic.name);
    }
    if (this.sizeOf(room) === 1) this.topics.delete(room);
  }

  /** From now on broadcasts are sent to this socket by itself. */
  private stray(socket: Socket): void {
    if (!this.adapter.sids.has(socket.id)) return;
    for (const room of this.roomsOf(socket.id)) {
      const topic = this.topics.get(room);
      if (!topic || topic.strays.has(socket.id)) continue;
      this.engine.outbox.settle(topic.name);
      this.nativeChannelOf(socket.id)?.unsubscribe(topic.name);
      topic.strays.add(socket.id);
    }
  }

  private roomsOf(id: SocketId): RoomKey[] {
    return [ALL, ...(this.adapter.sids.get(id) ?? [])];
  }

  /** A client on polling is a stray until it has moved to a WebSocket. */
  private awaitUpgrade(socket: Socket): void {
    if (this.awaitingUpgrade.has(socket.id)) return;
    this.awaitingUpgrade.add(socket.id);
    socket.conn.once('upgrade', () => {
      if (!this.awaitingUpgrade.delete(socket.id) || !this.nativeChannelOf(socket.id)) return;
      for (const room of this.roomsOf(socket.id)) {
        const topic = this.topics.get(room);
        if (topic?.strays.delete(socket.id)) this.enterTopic(socket, topic);
      }
    });
  }

  /** The socket's channel if topics reach it: a WebSocket on this worker's own port, of the current protocol. */
  private nativeChannelOf(id: SocketId): NativeChannel | undefined {
    const session = this.nsp.sockets.get(id)?.conn as unknown as Session | undefined;
    const transport = session?.transport;
    if (!(transport instanceof WebSocketTransport) || transport.protocol !== 4) return undefined;
    const { channel } = transport;
    return channel && isNative(channel) ? channel : undefined;
  }
}
