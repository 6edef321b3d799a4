import { MalformedMessage } from '../../../base/errors.js';
import { raise, reportFailure } from '../../../base/owner.js';
import { isToId, workerIn } from '../../../base/worker-name.js';
import type { SharedWindow } from '../../../engine/delivery/shared-window.js';
import { channels, HUB, type Node } from '../../node.js';
import { type Broadcast, decodeBroadcast, encodeBroadcast } from '../../wire/broadcast.js';
import { forAll, pack } from '../../wire/envelope.js';
import { decodeMessage } from '../../wire/message.js';
import { isOfInterest, types } from '../../wire/types.js';
import type { FrameAdapter } from './adapter.js';
import { Interest, type Peer } from './interest/interest.js';
import { keysOf, type OwnRooms, type RoomKey, roomKeyOf } from './interest/rooms.js';
import { ticksNow, Withheld } from './interest/withheld.js';

/**
 * What one frame counts as in the window, in ms. Its writes, reads and wake-ups cost both ends and the server between them
 * about a fifth. The rest gathers more messages at moderate rates, where each frame would carry one.
 */
const FRAME_COST_MS = 0.2;
/** Above this number of bytes, messages do not wait for the window. */
const MAX_HELD_BYTES = 1024 * 1024;

/** A message that waits for the end of the window. */
interface Held {
  /** The rooms that it is for; undefined if it is for all workers. */
  readonly keys: readonly RoomKey[] | undefined;
  /** Encoded once a worker is interested in it. */
  content: Buffer | Broadcast;
  readonly bytes: number;
}

type HeldForRooms = Held & { readonly keys: readonly RoomKey[] };

/**
 * Group commit for workers: what this worker has for others leaves once per window, in one frame for each destination,
 * and only where a room has members. The sender chooses the workers at the end of the window: all announcements that have
 * arrived by then count. A worker that announces a room later gets the messages that it would have got if the announcement
 * took no time.
 */
export class FrameBus {
  /** What the metrics of the backplane count. */
  readonly sent = { messages: 0, frames: 0, lateRooms: 0 };
  /** The adapters of this worker, by namespace. */
  readonly members = new Map<string, FrameAdapter>();
  private readonly interest: Interest;
  private readonly withheld = new Withheld<HeldForRooms>(() => this.sent.lateRooms++);
  private readonly hold: () => void;
  private held: Held[] = [];
  private heldBytes = 0;
  /** The workers of other machines, where one peer stands for all of them. */
  private readonly behind = new Set<string>();

  constructor(
    private readonly node: Node,
    /** The number of the Socket.IO server. */
    private readonly part: number,
    window: SharedWindow,
  ) {
    this.hold = window.share(() => this.flush() * FRAME_COST_MS);
    this.interest = new Interest(node, part, {
      onChange: this.hold,
      onJoin: (worker) => worker !== HUB && this.greet(worker),
      onAdded: (peer, keys, since) => this.sendLate(peer, keys, since),
    });
    if (!node.isAlone) this.interest.peerOf(HUB);
    for (const worker of node.neighbours) this.interest.peerOf(worker);
    node.on(channels.bus, part, {
      onMessage: (from, body, type) => this.receive(from, type, body),
      onHere: (name) => this.here(name),
      onGone: (name) => name !== HUB && this.gone(name),
    });
  }

  private here(name: string): void {
    if (this.node.isAlone) return;
    if (name === HUB) return this.interest.resume(HUB);
    this.behind.add(name);
    this.greet(name);
  }

  private gone(worker: string): void {
    if (!this.behind.delete(worker)) this.interest.remove(worker);
    for (const member of this.members.values()) member.workerGone(worker);
  }

  /** This worker's id, which names it in messages. */
  get id(): string {
    return this.node.id;
  }

  /** The rooms that this worker has members of. */
  get rooms(): OwnRooms {
    return this.interest.rooms;
  }

  /** Whether all workers can be reached, as far as this one knows. */
  get isUp(): boolean {
    return this.node.isUp;
  }

  /** Whether there is another worker. */
  get hasPeers(): boolean {
    return this.behind.size > 0 || this.interest.peers.size > (this.node.isAlone ? 0 : 1);
  }

  /** Takes note of messages that stay here, because no other worker is known. There may be some that they should have gone to. */
  lose(messages = 1): void {
    if (!this.node.isAlone) this.node.health.lose(messages);
  }

  /** Whether an id names this worker. */
  isOwnId(id: string): boolean {
    return workerIn(id) === this.id;
  }

  /** Sends a broadcast to the workers that have members of its rooms. */
  broadcast(broadcast: Broadcast): void {
    const { nsp, rooms, flags, encoded } = broadcast;
    let bytes = 0;
    for (const packet of encoded) bytes += packet.length;
    // A client that has just connected must not miss a message to all. With recovery, all workers count what is kept, except messages
    // to an id: their receivers are chosen once the keeper has them, so that a worker to which the client returns asks the keeper.
    const isKept = 'kept' in flags;
    const keys = rooms.length === 0 || (isKept && !isToId(rooms)) ? undefined : keysOf(nsp, rooms);
    const held = { keys, content: broadcast, bytes };
    if (isForRooms(held) && !isKept) this.addForRooms(held, rooms);
    else this.add(held);
  }

  /** Sends a message to all workers. */
  sendToAll(type: number, body: string | Uint8Array): void {
    const content = pack(this.node.head(type, this.part, 'all'), body);
    this.add({ keys: undefined, content, bytes: content.length });
  }

  /** Sends a message to the workers that have members of these rooms. */
  sendToRooms(nsp: string, rooms: readonly string[], type: number, body: string | Uint8Array): void {
    const keys = keysOf(nsp, rooms);
    const content = pack(this.node.head(type, this.part, keys), body);
    this.addForRooms({ keys, content, bytes: content.length }, rooms);
  }

  /**
   * Those of some workers that have the sockets with these ids. Undefined if others may be in such rooms: if one is no id, or if
   * a worker has announced a room of that name, which it may leave before it is asked.
   */
  holdersOf(nsp: string, ids: readonly string[], workers: Iterable<string>): string[] | undefined {
    const named = new Set(ids.map(workerIn));
    const keys = ids.map((id) => roomKeyOf(nsp, id));
    if (ids.length === 0 || named.has(undefined) || this.reachable().some((peer) => peer.wants(keys))) return undefined;
    return [...workers].filter((worker) => named.has(worker));
  }

  /** Sends a message to one worker, after those that are held. */
  sendTo(worker: string, type: number, body: string | Uint8Array): void {
    this.flush();
    this.node.send(worker, type, this.part, body);
    this.node.flush();
  }

  /**
   * Members of some rooms on other workers will enter further ones: from now on, their workers get messages to these, until they
   * say whether they have them.
   * @param of the rooms that they are in; none if that may be any sockets
   */
  expect(nsp: string, rooms: readonly string[], of: readonly string[]): void {
    this.flush();
    const keys = keysOf(nsp, of);
    const peers = this.reachable().filter((peer) => keys.length === 0 || peer.wants(keys));
    this.interest.expect(nsp, rooms, peers);
  }

  /**
   * Resolves when all workers know the rooms that this one has members of. A worker that does not answer within a second
   * is not waited for.
   * @returns whether all have answered
   */
  announced(): Promise<boolean> {
    return this.interest.announced();
  }

  close(): void {
    this.flush();
    this.interest.close();
  }

  /** What no other worker is to get at present does not open a window. */
  private addForRooms(held: HeldForRooms, rooms: readonly string[]): void {
    if (this.held.length > 0 || this.reachable().some((peer) => peer.wants(held.keys))) return this.add(held);
    if (this.behind.size === 0 && !rooms.every((room) => this.isOwnId(room))) this.lose();
    this.withheld.keep(held, [], ticksNow());
  }

  private add(held: Held): void {
    this.held.push(held);
    this.heldBytes += held.bytes;
    this.sent.messages++;
    if (this.heldBytes > MAX_HELD_BYTES) this.flush();
    else this.hold();
  }

  /** Sends what is held. Returns the number of frames. */
  private flush(): number {
    this.interest.announce();
    const { held } = this;
    if (held.length === 0) return 0;
    this.held = [];
    this.heldBytes = 0;
    const now = ticksNow();
    const reached = new Set<Peer>();
    const peers = this.reachable();
    if (this.behind.size === 0) this.lose(held.length);
    for (const message of held) {
      const receivers = isForRooms(message) ? peers.filter((peer) => peer.wants(message.keys)) : peers;
      try {
        for (const peer of receivers) {
          this.send(peer, message);
          reached.add(peer);
        }
      } catch (error) {
        // The other messages leave nevertheless.
        reportFailure('encoding a broadcast for other workers', error);
      }
      if (isForRooms(message) && receivers.length < peers.length) this.withheld.keep(message, receivers, now);
    }
    this.node.flush();
    this.sent.frames += reached.size;
    return reached.size;
  }

  /** The peers that a message for all goes to. */
  private reachable(): Peer[] {
    const peers = [...this.interest.peers.values()];
    return this.behind.size > 0 ? peers : peers.filter(({ id }) => id !== HUB);
  }

  private greet(worker: string): void {
    for (const member of this.members.values()) member.greet(worker);
  }

  /** Sends a worker what it has not got because its announcement was on the way. */
  private sendLate(peer: Peer, keys: readonly RoomKey[], since: number): void {
    const messages = this.withheld.takeFor(peer, keys, since);
    if (messages.length === 0) return;
    for (const message of messages) this.send(peer, message);
    this.node.flush();
    this.sent.frames++;
  }

  private send(peer: Peer, message: Held): void {
    const { keys } = message;
    const envelope = this.encoded(message);
    peer.send(peer.id === HUB && keys && !peer.knows(keys) ? forAll(envelope) : envelope);
  }

  /** A message is encoded once, whichever workers it is for. */
  private encoded(message: Held): Buffer {
    const { content, keys = 'all' } = message;
    const bytes =
      content instanceof Buffer
        ? content
        : encodeBroadcast(content as Broadcast, this.node.head(types.broadcast, this.part, keys));
    message.content = bytes;
    return bytes;
  }

  private receive(from: string, type: number, body: Buffer): void {
    if (type === types.broadcast) {
      const broadcast = decodeBroadcast(body);
      return this.members.get(broadcast.nsp)?.receiveBroadcast(broadcast);
    }
    if (isOfInterest(type)) return this.interest.receive(from, type, body);
    const message = decodeMessage(type, from, body);
    try {
      this.members.get(message.nsp)?.receiveMessage(message);
    } catch (error) {
      // What listeners of the application throw is no fault of the message.
      if (type !== types.serverSideEmit || error instanceof MalformedMessage) throw error;
      raise(error);
    }
  }
}

function isForRooms(message: Held): message is HeldForRooms {
  return message.keys !== undefined;
}
