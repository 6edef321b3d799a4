import type { Namespace, Socket } from 'socket.io';
import { Adapter, type BroadcastOptions, type SocketId } from 'socket.io-adapter';
import { warnOnce } from '../../base/warnings.js';
import type { Engine } from '../../engine/engine.js';
import type { NativeWebSocket } from '../../engine/http/exchange.js';
import { encodeToBytes } from '../../engine/parser/socket-io-parser.js';
import { Session } from '../../engine/session/session.js';
import { type BroadcastPacket, broadcastStepsOf, type Deliver, noteFurtherNamespace } from '../socket-io.private.js';
import { answerQuestions } from './cluster-sockets.js';
import { EncodedPacket, type EncodedPackets } from './encoded-packet.js';
import { boundNamespaces } from './namespaces.js';
import { OutgoingListeners } from './outgoing-listeners.js';
import { RoomBounds } from './room-bounds.js';
import { withRoomSets } from './room-sets.js';
import { saveMemory } from './socket-memory.private.js';
import { ALL, type Topic, type TopicKey, Topics, topicNameOf } from './topics.js';

/** Creates the adapter of a namespace, in the form that `io.adapter()` accepts. */
export type AdapterFactory = (nsp: Namespace) => Adapter;

/** The class of an adapter, which `io.adapter()` accepts too. */
export type AdapterClass = new (nsp: Namespace) => Adapter;

/** The parts of the engine that rooms need. */
export type RoomsEngine = Pick<
  Engine,
  'busyRooms' | 'counters' | 'load' | 'outbox' | 'packetListeners' | 'sender' | 'settings'
>;

/** Creates an adapter as socket.io does, which calls classes and functions alike with `new`. */
export function makeAdapter(maker: AdapterFactory | AdapterClass, nsp: Namespace): Adapter {
  // Arrow functions have no prototype, and cannot be called with `new`.
  return maker.prototype ? new (maker as AdapterClass)(nsp) : (maker as AdapterFactory)(nsp);
}

/** With fewer members, sending to each member is as cheap as a topic. */
const MIN_TOPIC_MEMBERS = 3;
/** Rooms with longer names are not among the busiest rooms that operators see. */
const MAX_SHOWN_NAME = 256;

/**
 * Turns the rooms of an adapter into uWebSockets.js topics. It works with the adapter of any backplane.
 *
 * The adapter emits `broadcast` with each packet that is delivered here and its options, for members that are no sockets.
 *
 * A room becomes a topic with the first broadcast to it. Rooms that never have more than one or two members, such as
 * each socket's own, cost nothing.
 */
export function withNativeRooms(factory: AdapterFactory | AdapterClass, engine: RoomsEngine): AdapterFactory {
  // io.adapter() calls it with `new`, which an arrow function does not allow.
  function nativeRooms(nsp: Namespace): Adapter {
    encodeToBytes(nsp.server.encoder);
    const adapter = withRoomSets(makeAdapter(factory, nsp));
    new NativeRooms(adapter, nsp, engine).install();
    answerQuestions(nsp);
    boundNamespaces(nsp, engine);
    return adapter;
  }
  factories.add(nativeRooms);
  return nativeRooms;
}

const factories = new WeakSet<AdapterFactory>();

/** Whether a factory makes adapters whose rooms are topics. */
export function hasNativeRooms(factory: unknown): boolean {
  return factories.has(factory as AdapterFactory);
}

let hasWarned = false;

interface Broadcast {
  readonly packet: BroadcastPacket;
  readonly encoded: EncodedPackets;
}

class NativeRooms {
  private readonly topics: Topics;
  private readonly bounds: RoomBounds;
  private readonly listeners: OutgoingListeners;
  private broadcast: Broadcast | undefined;

  constructor(
    private readonly adapter: Adapter,
    private readonly nsp: Namespace,
    private readonly engine: RoomsEngine,
  ) {
    this.topics = new Topics(adapter, nsp, engine);
    this.bounds = new RoomBounds(adapter, engine);
    this.listeners = new OutgoingListeners(adapter, engine);
  }

  install(): void {
    const { adapter, bounds } = this;
    bounds.install();
    const steps = broadcastStepsOf<EncodedPackets>(adapter);
    const { addAll, del, delAll } = adapter;
    const { apply } = steps;
    // An adapter with a step of its own keeps it.
    const hasStockApply = apply === broadcastStepsOf(Adapter.prototype).apply;

    adapter.addAll = (id, rooms) => {
      if (!bounds.enter(id, rooms)) return this.giveUp(id);
      // A socket in its own room is connected. One that has left all rooms begins again with the next one.
      const isEntering = rooms.has(id) || !adapter.sids.has(id);
      const result = addAll.call(adapter, id, rooms);
      const socket = this.nsp.sockets.get(id);
      if (!socket) return result;
      this.warnOfOtherEngine(socket);
      if (isEntering) {
        noteFurtherNamespace(socket);
        saveMemory(socket);
        this.listeners.watch(socket);
        this.topics.reach(id);
      }
      return result;
    };
    adapter.del = (id, room) => {
      bounds.leave(id, room);
      return del.call(adapter, id, room);
    };
    adapter.delAll = (id) => {
      bounds.forget(id);
      this.listeners.forget(id);
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
      // Without clients, the server may not have its engine yet.
      if (adapter.sids.size > 0 && this.engine.busyRooms.isDue()) this.countRoom(options);
      if (broadcast && adapter.listenerCount('broadcast') > 0) adapter.emit('broadcast', broadcast.packet, options);
      if (!broadcast || broadcast.packet.id !== undefined || !this.fanOut(options, deliver, broadcast)) {
        if (hasStockApply) this.deliverToEach(options, deliver);
        else apply.call(adapter, options, deliver);
      }
    };
  }

  /** Does what `Adapter.apply()` does, but creates no sets of own rooms. */
  private deliverToEach(options: BroadcastOptions, deliver: Deliver): void {
    const done = this.exceptedSids(options);
    const rooms: Iterable<TopicKey> = options.rooms.size > 0 ? options.rooms : [ALL];
    for (const room of rooms) for (const id of this.topics.membersOf(room)) this.deliverOnce(id, done, deliver);
  }

  /** Ends the client whose socket would be in too many rooms. */
  private giveUp(id: SocketId): void {
    const conn = this.nsp.sockets.get(id)?.conn as unknown;
    if (conn instanceof Session) conn.giveUp('too many rooms');
  }

  private deliverOnce(id: SocketId, done: Set<SocketId>, deliver: Deliver): void {
    const socket = done.has(id) ? undefined : this.nsp.sockets.get(id);
    if (!socket) return;
    deliver(socket);
    done.add(id);
  }

  /** Counts a broadcast for its room, if that has members here. The rooms of single sockets do not count. */
  private countRoom({ rooms }: BroadcastOptions): void {
    const [room] = rooms;
    const { adapter } = this;
    // An application may pass on what a client sends as a room, which can be anything.
    if (typeof room !== 'string' || room.length > MAX_SHOWN_NAME) return;
    if (!adapter.rooms.has(room) || adapter.sids.has(room)) return;
    this.engine.busyRooms.add(topicNameOf(this.nsp.name, room));
  }

  /** Rooms work with any engine, but topics reach only the clients of gjallar's engine. */
  private warnOfOtherEngine({ conn }: Socket): void {
    if (hasWarned || (conn as unknown) instanceof Session || conn.constructor.name !== 'Socket') return;
    hasWarned = true;
    reportOtherEngine();
  }

  /** Delivers a broadcast through a topic. Returns false when sending to each socket is as cheap. */
  private fanOut(options: BroadcastOptions, deliver: Deliver, broadcast: Broadcast): boolean {
    const rooms: TopicKey[] = options.rooms.size > 0 ? [...options.rooms] : [ALL];
    const largest = rooms.reduce((most, room) => (this.topics.sizeOf(room) > this.topics.sizeOf(most) ? room : most));
    // A busy worker drops volatile messages first.
    if (options.flags?.volatile && this.engine.load.level > 0) return true;
    if (this.topics.sizeOf(largest) < MIN_TOPIC_MEMBERS) return false;

    const topic = this.topics.topicOf(largest);
    const done = this.exceptedSids(options);
    const except: NativeWebSocket[] = [];
    for (const id of done) {
      const webSocket =
        this.topics.isMember(largest, id) && !topic.directRecipients.has(id)
          ? this.topics.nativeSocketOf(id)
          : undefined;
      if (webSocket) except.push(webSocket);
    }
    if (options.flags?.volatile) except.push(...this.congested(largest, topic, done));
    const compress = options.flags?.compress !== false;
    for (const message of broadcast.encoded) this.publish(topic.name, message, compress, except);
    if (!this.listeners.isEmpty) this.callListeners(largest, topic, done, except, broadcast, options);

    for (const id of topic.directRecipients) this.deliverOnce(id, done, deliver);
    for (const room of rooms) {
      if (room !== largest)
        for (const id of this.topics.membersOf(room))
          if (!this.topics.isMember(largest, id)) this.deliverOnce(id, done, deliver);
    }
    return true;
  }

  private callListeners(
    room: TopicKey,
    topic: Topic,
    done: ReadonlySet<SocketId>,
    except: readonly NativeWebSocket[],
    { packet, encoded }: Broadcast,
    { flags }: BroadcastOptions,
  ): void {
    const call = this.listeners.callerFor(packet, encoded, flags);
    const dropped = flags?.volatile ? new Set(except) : undefined;
    // A listener may change the room.
    for (const id of [...this.topics.membersOf(room)]) {
      const socket = this.nsp.sockets.get(id);
      if (!socket || done.has(id) || topic.directRecipients.has(id)) continue;
      call(socket, dropped?.has(this.topics.nativeSocketOf(id) as NativeWebSocket) ?? false);
    }
  }

  private publish(
    topic: string,
    message: string | Buffer,
    compress: boolean,
    except: readonly NativeWebSocket[],
  ): void {
    const isBinary = typeof message !== 'string';
    // "4" marks an Engine.IO message. Binary messages have no such prefix on a WebSocket.
    const frame = isBinary ? message : `4${message}`;
    const threshold = this.engine.settings.perMessageDeflate?.threshold;
    const compressed = compress && threshold !== undefined && frame.length >= threshold;
    this.engine.outbox.publish(topic, frame, isBinary, compressed, except);
  }

  private exceptedSids(options: BroadcastOptions): Set<SocketId> {
    const excepted = new Set<SocketId>();
    for (const room of options.except ?? []) for (const id of this.topics.membersOf(room)) excepted.add(id);
    return excepted;
  }

  /** Members that cannot accept a volatile packet now. */
  private *congested(room: TopicKey, topic: Topic, done: Set<SocketId>): Iterable<NativeWebSocket> {
    for (const id of this.topics.membersOf(room)) {
      if (done.has(id) || topic.directRecipients.has(id)) continue;
      const webSocket = this.topics.nativeSocketOf(id);
      if (webSocket && webSocket.getBufferedAmount() > 0) yield webSocket;
    }
  }
}

/** Says once what an engine that is not gjallar's costs. */
export function reportOtherEngine(): void {
  warnOnce(
    'GJALLAR_OTHER_ENGINE',
    "Clients connect over an engine that is not gjallar's. Rooms are no topics there, and on several workers, most clients " +
      'on polling get "Session ID unknown". Give io.bind() an Engine of gjallar, or let io.attach() of its Server create one.',
  );
}
