import { MalformedMessage } from '../../../errors.js';
import { looksLikeSocketId } from '../../socket-id.js';
import type { Inbox } from '../inbox.js';
import { Fences } from './interest/fences.js';
import { Peer } from './interest/peer.js';
import { keyOf, type RoomKey } from './interest/room-key.js';
import { OwnRooms } from './interest/rooms.js';
import type { FrameLinks, Route } from './links.js';
import type { SharedWindow } from './window.js';
import { type Broadcast, encodeBroadcast } from './wire/broadcast.js';
import { messageOf, numbersMessage, numbersOf, types } from './wire/message.js';

/**
 * What one frame counts as in the window, in ms. Its writes, reads and wake-ups cost both ends and the server between them
 * about a fifth. The rest gathers more messages at moderate rates, where each frame would carry one.
 */
const FRAME_COST_MS = 0.2;
/** Above this number of bytes, messages do not wait for the window. */
const MAX_HELD_BYTES = 1024 * 1024;
/** How often workers compare what they know of each other's rooms, in ms. */
const CHECK_INTERVAL_MS = 2000;

/** A message that waits for the end of the window. It is encoded if a worker is interested in it then. */
interface Held {
  /** The rooms that it is for; undefined if it is for all workers. */
  keys: RoomKey[] | undefined;
  content: Buffer | Broadcast;
}

/** What handles the messages that arrive. */
export interface FrameHandler {
  /** Whether listeners of the application handle the message is what `read` of {@link Inbox.receive} returns. */
  onBroadcast(from: string, body: Buffer): void;
  onCluster(from: string, body: Buffer): void;
  /** The worker can be sent to. */
  onJoin(worker: string): void;
  onLeave(worker: string): void;
}

/**
 * Group commit for workers: what this worker has for others leaves once per window, in one frame for each destination,
 * and only where a room has members.
 *
 * Each worker knows of each other one which rooms it has members of. A worker announces a room at once when the first
 * member enters it, and by the end of the window when the last one leaves. Until a worker has announced its rooms, it
 * gets everything. The sender chooses the workers at the end of the window: all announcements that have arrived by then
 * count.
 *
 * ```
 * WORKER                                  NEW
 *  │                  rooms: none          │
 *  │ ◀──────────────────────────────────── │
 *  │  rooms: a, b                          │
 *  │ ────────────────────────────────────▶ │
 *  │                  added: c             │  a client joins c; `await socket.join('c')` goes on with the pong
 *  │                  ping                 │
 *  │ ◀──────────────────────────────────── │
 *  │  pong                                 │
 *  │ ────────────────────────────────────▶ │
 * ```
 */
export class FrameBus {
  /** The rooms that this worker has members of. */
  readonly rooms = new OwnRooms(
    () => this.announceSoon(),
    () => this.hold(),
  );
  /** What the metrics of the backplane count. */
  readonly sent = { messages: 0, frames: 0 };
  private readonly peers = new Map<string, Peer>();
  private readonly fences = new Fences((number, worker) => this.tell(worker, numbersMessage(types.ping, [number])));
  private readonly timer: NodeJS.Timeout;
  private readonly hold: () => void;
  private held: Held[] = [];
  private heldBytes = 0;
  private isAnnouncing = false;

  constructor(
    private readonly links: FrameLinks,
    window: SharedWindow,
    private readonly inbox: Inbox,
    private readonly handler: FrameHandler,
  ) {
    this.hold = window.share(() => this.flush() * FRAME_COST_MS);
    links.listen({
      onMessage: (from, type, body) => this.receive(from, type, body),
      onMalformed: (error) => inbox.drop(new MalformedMessage(String(error))),
      onJoin: (worker) => this.resume(worker),
      onLeave: (worker) => this.remove(worker),
    });
    for (const worker of links.workers()) this.peerOf(worker);
    this.timer = setInterval(() => this.check(), CHECK_INTERVAL_MS).unref();
  }

  /** This worker's id, which names it in messages. */
  get id(): string {
    return this.links.id;
  }

  /** Whether there is another worker. */
  get hasPeers(): boolean {
    return this.peers.size > 0;
  }

  /** Counts a message if there may be workers that it should have gone to. */
  lose(): void {
    this.links.lose();
  }

  /** Sends a broadcast to the workers that have members of its rooms. */
  broadcast(broadcast: Broadcast): void {
    const { nsp, rooms, flags, encoded } = broadcast;
    // A client that has just connected must not miss what is for all. Every worker keeps packets for recovery.
    const isForAll = rooms.length === 0 || 'kept' in flags || rooms.some(looksLikeSocketId);
    const keys = isForAll ? undefined : rooms.map((room) => keyOf(nsp, room));
    let bytes = 0;
    for (const packet of encoded) bytes += packet.length;
    this.add({ keys, content: broadcast }, bytes);
  }

  /** Sends a message to all workers. */
  sendToAll(message: Buffer): void {
    this.add({ keys: undefined, content: message }, message.length);
  }

  /** Sends a message to one worker, after those that are held. */
  sendTo(worker: string, message: Buffer): void {
    this.flush();
    this.tell(worker, message);
  }

  /** Members of other workers will enter these rooms: from now on, all workers get messages to them until they say so. */
  expect(nsp: string, rooms: readonly string[]): void {
    const keys = rooms.map((room) => keyOf(nsp, room));
    this.flush();
    const number = this.fences.start(this.peers.keys());
    for (const peer of this.peers.values()) peer.expect(keys, number);
  }

  /**
   * Resolves when all workers know the rooms that this one has members of. A worker that does not answer within a second
   * is not waited for.
   */
  announced(): Promise<void> {
    this.announce();
    return this.fences.pass(this.peers.keys());
  }

  close(): void {
    clearInterval(this.timer);
    this.flush();
    this.fences.close();
  }

  private add(held: Held, bytes: number): void {
    this.held.push(held);
    this.heldBytes += bytes;
    this.sent.messages++;
    if (this.heldBytes > MAX_HELD_BYTES) this.flush();
    else this.hold();
  }

  /** Sends what is held. Returns the number of frames. */
  private flush(): number {
    this.announce();
    const { held } = this;
    if (held.length === 0) return 0;
    this.held = [];
    this.heldBytes = 0;
    const routes = new Set<Route>();
    const peers = [...this.peers.values()];
    for (const { keys, content } of held) {
      let message = content instanceof Buffer ? content : undefined;
      for (const peer of peers) {
        if (keys && !peer.wants(keys)) continue;
        message ??= encodeBroadcast(content as Broadcast);
        peer.route.add(peer.id, message);
        routes.add(peer.route);
      }
    }
    for (const route of routes) route.send();
    this.sent.frames += routes.size;
    return routes.size;
  }

  private announceSoon(): void {
    if (this.isAnnouncing) return;
    this.isAnnouncing = true;
    process.nextTick(() => this.announce());
  }

  private announce(): void {
    this.isAnnouncing = false;
    const { added, removed } = this.rooms.takeChanges();
    if (added.length > 0) this.tellAll(numbersMessage(types.added, added));
    if (removed.length > 0) this.tellAll(numbersMessage(types.removed, removed));
  }

  /** Another worker, which is greeted if it is new. */
  private peerOf(worker: string): Peer {
    const known = this.peers.get(worker);
    if (known) return known;
    const peer = new Peer(worker, this.links.routeTo(worker));
    this.peers.set(worker, peer);
    this.tell(worker, this.allRooms());
    this.handler.onJoin(worker);
    return peer;
  }

  private allRooms(): Buffer {
    return numbersMessage(types.rooms, this.rooms.announced);
  }

  /** The worker is new, or messages may have been lost in both directions. */
  private resume(worker: string): void {
    if (!this.peers.has(worker)) return void this.peerOf(worker);
    this.peers.get(worker)!.forget();
    this.tell(worker, this.allRooms());
    this.tell(worker, messageOf(types.missing, Buffer.alloc(0)));
  }

  private remove(worker: string): void {
    this.peers.delete(worker);
    this.fences.leave(worker);
    this.handler.onLeave(worker);
  }

  private check(): void {
    const { count, sum } = this.rooms.announced.checksum;
    this.tellAll(numbersMessage(types.checksum, [count, sum]));
  }

  private tellAll(message: Buffer): void {
    const routes = new Set<Route>();
    for (const { id, route } of this.peers.values()) {
      route.add(id, message);
      routes.add(route);
    }
    for (const route of routes) route.send();
  }

  private tell(worker: string, message: Buffer): void {
    const route = this.peers.get(worker)?.route;
    route?.add(worker, message);
    route?.send();
  }

  private receive(from: string, type: number, body: Buffer): void {
    if (type === types.broadcast) return this.handler.onBroadcast(from, body);
    if (type === types.cluster) return this.handler.onCluster(from, body);
    this.inbox.receive(
      () => {
        this.receiveControl(this.peerOf(from), type, body);
        return false;
      },
      () => {},
    );
  }

  private receiveControl(peer: Peer, type: number, body: Buffer): void {
    const numbers = numbersOf(body);
    switch (type) {
      case types.added:
        return peer.add(numbers);
      case types.removed:
        return peer.delete(numbers);
      case types.rooms:
        return peer.replace(numbers);
      case types.checksum:
        if (!peer.matches(numbers)) this.tell(peer.id, messageOf(types.missing, Buffer.alloc(0)));
        return;
      case types.missing:
        return this.tell(peer.id, this.allRooms());
      case types.ping:
        this.announce();
        return this.tell(peer.id, numbersMessage(types.pong, numbers));
      case types.pong:
        peer.answered(numbers[0] ?? 0);
        return this.fences.answered(peer.id, numbers[0] ?? 0);
      default:
        throw new MalformedMessage(`a message has the unknown type ${type}`);
    }
  }
}
