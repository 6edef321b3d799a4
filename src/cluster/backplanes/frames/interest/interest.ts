import { nextTick } from '../../../../base/clock.js';
import { HUB, type Node } from '../../../node.js';
import { numbers, numbersOf, pack } from '../../../wire/envelope.js';
import { types } from '../../../wire/types.js';
import { OwnRooms, type RoomKey, roomKeyOf, WORKERS } from './rooms.js';
import { Fences, ticksNow } from './withheld.js';

/** Another worker, and what this one knows of its rooms. */
export class Peer {
  /** The rooms that it has announced; undefined while they are not known. */
  private rooms: Set<RoomKey> | undefined;
  /** Rooms that it may have, until it has answered the ping with this number. */
  private readonly expected = new Map<RoomKey, number>();

  constructor(
    readonly id: string,
    /** Sends an envelope to it. */
    readonly send: (envelope: Buffer) => void,
  ) {}

  /** Whether it may have members of one of the rooms. */
  wants(keys: readonly RoomKey[]): boolean {
    const { rooms, expected } = this;
    if (!rooms) return true;
    for (const key of keys) if (rooms.has(key) || (expected.size > 0 && expected.has(key))) return true;
    return false;
  }

  /** Whether it has announced all of the rooms that it has, so that a message may be routed by them behind it. */
  knows(keys: readonly RoomKey[]): boolean {
    const { rooms, expected } = this;
    return rooms !== undefined && (expected.size === 0 || !keys.some((key) => expected.has(key)));
  }

  add(keys: readonly RoomKey[]): void {
    for (const key of keys) this.rooms?.add(key);
  }

  delete(keys: readonly RoomKey[]): void {
    for (const key of keys) this.rooms?.delete(key);
  }

  /** @returns whether they were not known */
  replace(keys: readonly RoomKey[]): boolean {
    const isFirst = !this.rooms;
    this.rooms = new Set(keys);
    return isFirst;
  }

  /** From now on, it counts as having members of every room. */
  forget(): void {
    this.rooms = undefined;
  }

  /** It may have members of these rooms once it has handled what was sent to it, up to the ping. */
  expect(keys: readonly RoomKey[], ping: number): void {
    for (const key of keys) this.expected.set(key, ping);
  }

  answered(ping: number): void {
    for (const [key, number] of this.expected) if (number <= ping) this.expected.delete(key);
  }
}

/** A message may have been on its way for this long, in ticks, when it arrives. */
const WAY = 10;

interface InterestEvents {
  /** A change of this worker's rooms is to be announced by the end of the window. */
  onChange(): void;
  /** The worker can be sent to. */
  onJoin(worker: string): void;
  /**
   * The worker has had members of rooms for a moment.
   * @param since when a message must have left, at the earliest, that reaches these members
   */
  onAdded(peer: Peer, keys: readonly RoomKey[], since: number): void;
}

/**
 * What workers tell each other of their rooms. A worker announces a room in the turn in which the first member enters it,
 * and by the end of the window when the last one leaves. Until a worker has announced its rooms, it counts as having members
 * of all.
 *
 * ```
 * WORKER                                  NEW
 *  │                  rooms: a, b          │  the greeting
 *  │ ◀──────────────────────────────────── │
 *  │  rooms: a                             │
 *  │ ────────────────────────────────────▶ │
 *  │                  rooms: a, b          │  once more: WORKER may have had no Socket.IO server before
 *  │ ◀──────────────────────────────────── │
 *  │                  added: c, since      │  a client joins c; `await socket.join('c')` goes on with the pong
 *  │                  ping                 │
 *  │ ◀──────────────────────────────────── │
 *  │  messages to c that left since, pong  │
 *  │ ────────────────────────────────────▶ │
 * ```
 */
export class Interest {
  /** The rooms that this worker has members of. */
  readonly rooms: OwnRooms;
  private readonly known = new Map<string, Peer>();
  private readonly fences = new Fences((number, worker) => this.tell(worker, types.ping, [number]));
  /** When the first of the members entered whose rooms are not announced yet. */
  private enteredAt: number | undefined;

  constructor(
    private readonly node: Node,
    private readonly part: number,
    private readonly events: InterestEvents,
  ) {
    this.rooms = new OwnRooms(
      () => this.announceSoon(),
      () => events.onChange(),
    );
    this.rooms.add(WORKERS, node.id);
    // Before any other worker is known, so that each of them is told first of all.
    this.announce();
  }

  /** The other workers. */
  get peers(): ReadonlyMap<string, Peer> {
    return this.known;
  }

  /** Another worker, which is greeted if it is new. */
  peerOf(worker: string): Peer {
    const known = this.known.get(worker);
    if (known) return known;
    // It is the first that the rooms are announced to.
    if (this.known.size === 0) this.announce();
    const peer = new Peer(worker, this.node.wayTo(worker));
    this.known.set(worker, peer);
    this.tellRooms(worker);
    this.events.onJoin(worker);
    return peer;
  }

  /** The worker is here, perhaps again: it knows nothing of this one. */
  resume(worker: string): void {
    const known = this.known.get(worker);
    if (!known) return void this.peerOf(worker);
    known.forget();
    this.tellRooms(worker);
  }

  remove(worker: string): void {
    this.known.delete(worker);
    this.fences.leave(worker);
  }

  /** Tells the other workers which rooms have changed. */
  announce(): void {
    const since = ((this.enteredAt ?? ticksNow()) - WAY) | 0;
    this.enteredAt = undefined;
    const { added, removed } = this.rooms.takeChanges();
    if (this.known.size === 0) return;
    if (added.length > 0) this.tellAll(types.added, [since, ...added]);
    if (removed.length > 0) this.tellAll(types.removed, removed);
  }

  /** Members of these workers will enter rooms: from now on, the workers count as having some until they answer. */
  expect(nsp: string, rooms: readonly string[], peers: readonly Peer[]): void {
    if (peers.length === 0) return;
    const keys = rooms.map((room) => roomKeyOf(nsp, room));
    const number = this.fences.start(peers.map(({ id }) => id));
    for (const peer of peers) peer.expect(keys, number);
  }

  /**
   * Resolves when all workers know the rooms that this one has members of, and have handled all else that it has sent. A worker
   * that does not answer within a second is not waited for.
   * @returns whether all have answered
   */
  announced(): Promise<boolean> {
    this.announce();
    return this.fences.pass(this.known.keys());
  }

  /** @throws MalformedMessage if the body is none of numbers */
  receive(from: string, type: number, body: Buffer): void {
    const isKnown = this.known.has(from);
    const peer = this.peerOf(from);
    const all = numbersOf(body);
    const [first = 0] = all;
    switch (type) {
      case types.added: {
        const added = all.slice(1);
        peer.add(added);
        return this.events.onAdded(peer, added, first);
      }
      case types.removed:
        return peer.delete(all);
      case types.rooms:
        if (peer.replace(all) && isKnown && from !== HUB) this.tellAgain(from);
        return;
      case types.ping:
        this.announce();
        return this.tell(from, types.pong, all);
      case types.pong:
        peer.answered(first);
        return this.fences.answered(from, first);
    }
  }

  close(): void {
    this.fences.close();
  }

  /** What a worker was told before it said its rooms may have come before its Socket.IO server was there. */
  private tellAgain(worker: string): void {
    this.tellRooms(worker);
    this.fences.askAgain(worker);
  }

  private announceSoon(): void {
    if (this.enteredAt !== undefined || this.known.size === 0) return;
    this.enteredAt = ticksNow();
    nextTick(() => this.announce());
  }

  private tellRooms(worker: string): void {
    this.tell(worker, types.rooms, this.rooms.announced);
  }

  private tell(worker: string, type: number, all: Iterable<number>): void {
    this.known.get(worker)?.send(pack(this.node.head(type, this.part), numbers(all)));
    this.node.flush();
  }

  private tellAll(type: number, all: Iterable<number>): void {
    const envelope = pack(this.node.head(type, this.part), numbers(all));
    for (const peer of this.known.values()) peer.send(envelope);
    this.node.flush();
  }
}
