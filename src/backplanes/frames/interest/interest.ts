import { own } from '../../../base/owner.js';
import { MalformedMessage } from '../../../errors.js';
import type { FrameLinks, Route } from '../links.js';
import { claimMessage, messageOf, numbersMessage, numbersOf, types } from '../wire/message.js';
import { keyOf, OwnRooms, type RoomKey, RoomSet } from './rooms.js';
import { Fences, RemoteClock, ticksNow } from './withheld.js';

/** Another worker, and what this one knows of its rooms. */
export class Peer {
  /** The rooms that it has announced; undefined while they are not known. */
  private rooms: RoomSet | undefined;
  /** Rooms that it may have, until it has answered the ping with this number. */
  private readonly expected = new Map<RoomKey, number>();

  constructor(
    readonly id: string,
    readonly route: Route,
    /** Whether it is on another machine. */
    readonly isElsewhere = false,
  ) {}

  /** Whether it may have members of one of the rooms. */
  wants(keys: readonly RoomKey[]): boolean {
    const { rooms, expected } = this;
    if (!rooms) return true;
    for (const key of keys) if (rooms.has(key) || (expected.size > 0 && expected.has(key))) return true;
    return false;
  }

  /** The rooms by which a message may be routed behind it; undefined if all there must get it. */
  routable(keys: readonly RoomKey[]): readonly RoomKey[] | undefined {
    const { rooms, expected } = this;
    return rooms && (expected.size === 0 || !keys.some((key) => expected.has(key))) ? keys : undefined;
  }

  /** Whether it has announced members of a room. */
  has(key: RoomKey): boolean {
    return this.rooms?.has(key) ?? false;
  }

  add(keys: readonly RoomKey[]): void {
    for (const key of keys) this.rooms?.add(key);
  }

  delete(keys: readonly RoomKey[]): void {
    for (const key of keys) this.rooms?.delete(key);
  }

  replace(keys: readonly RoomKey[]): void {
    this.rooms = new RoomSet();
    this.add(keys);
  }

  /** From now on, it counts as having members of every room. */
  forget(): void {
    this.rooms = undefined;
  }

  /** Compares its rooms with the checksum that it has sent. If they differ, they are forgotten. */
  matches(count: number, sum: number): boolean {
    const known = this.rooms?.checksum;
    if (known?.count === count && known?.sum === sum) return true;
    this.forget();
    return false;
  }

  /** It may have members of these rooms once it has handled what was sent to it, up to the ping. */
  expect(keys: readonly RoomKey[], ping: number): void {
    for (const key of keys) this.expected.set(key, ping);
  }

  answered(ping: number): void {
    for (const [key, number] of this.expected) if (number <= ping) this.expected.delete(key);
  }
}

/** How often workers compare what they know of each other's rooms, in ms. */
const CHECK_INTERVAL_MS = 2000;

interface InterestEvents {
  /** A change of this worker's rooms is to be announced by the end of the window. */
  onChange(): void;
  /** The worker can be sent to. */
  onJoin(worker: string): void;
  onLeave(worker: string): void;
  /**
   * The worker has had members of rooms for a moment.
   * @param since when a message must have left, at the earliest, that reaches these members
   */
  onAdded(peer: Peer, keys: readonly RoomKey[], since: number): void;
  /** Every two seconds. */
  onCheck(): void;
}

/**
 * What workers tell each other of their rooms. A worker announces a room in the turn in which the first member enters it,
 * and by the end of the window when the last one leaves. Until a worker has announced its rooms, it counts as having members
 * of all.
 *
 * ```
 * WORKER                                  NEW
 *  │                  checksum, time       │  the greeting
 *  │ ◀──────────────────────────────────── │
 *  │  missing                              │
 *  │ ────────────────────────────────────▶ │
 *  │                  rooms: a, b          │
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
  private readonly clocks = new WeakMap<Route, RemoteClock>();
  private readonly fences = new Fences((number, worker) => this.tell(worker, numbersMessage(types.ping, [number])));
  private readonly timer: NodeJS.Timeout;
  /** Rooms named like the id of a socket that may be its own room as well, by the workers that have claimed them. */
  private readonly doubts = new Map<RoomKey, Set<string>>();
  /** When the first of the members entered whose rooms are not announced yet. */
  private enteredAt: number | undefined;

  constructor(
    private readonly links: FrameLinks,
    private readonly events: InterestEvents,
  ) {
    this.rooms = new OwnRooms(
      () => this.announceSoon(),
      () => events.onChange(),
    );
    this.timer = setInterval(() => this.check(), CHECK_INTERVAL_MS).unref();
  }

  /** The other workers. */
  get peers(): ReadonlyMap<string, Peer> {
    return this.known;
  }

  /** Another worker, which is greeted if it is new. */
  peerOf(worker: string): Peer {
    const known = this.known.get(worker);
    if (known) return known;
    const peer = new Peer(worker, this.links.routeTo(worker), this.links.isElsewhere(worker));
    this.known.set(worker, peer);
    this.tell(worker, this.checksum());
    this.events.onJoin(worker);
    return peer;
  }

  /** The worker is new, or messages may have been lost in both directions. */
  resume(worker: string): void {
    const known = this.known.get(worker);
    if (!known) return void this.peerOf(worker);
    known.forget();
    this.tell(worker, this.checksum());
    this.tell(worker, missing());
  }

  remove(worker: string): void {
    this.known.delete(worker);
    this.fences.leave(worker);
    this.events.onLeave(worker);
  }

  /** Tells the other workers which rooms have changed. */
  announce(): void {
    const { enteredAt } = this;
    this.enteredAt = undefined;
    const { added, removed } = this.rooms.takeChanges();
    if (added.length > 0) {
      this.tellAll((route) => {
        const clock = this.clockOf(route);
        // Workers whose clock is not known have not got this one's rooms either.
        if (!clock.isKnown) return undefined;
        return numbersMessage(types.added, [clock.departure(enteredAt ?? ticksNow()), ...added]);
      });
    }
    if (removed.length > 0) this.tellAll(() => numbersMessage(types.removed, removed));
  }

  /**
   * Announces a room that is named like the id of a socket. Until all workers have looked whether they have the socket,
   * messages to the room go to all.
   */
  claim(nsp: string, room: string): void {
    this.tellAll(() => claimMessage(nsp, room));
    this.rooms.add(nsp, room);
    const key = keyOf(nsp, room);
    this.doubt(this.links.id, key);
    const settled = this.announced().then(() => {
      this.settle(this.links.id, [key]);
      this.tellAll(() => numbersMessage(types.claimed, [key]));
    });
    own('asking for the socket of a room', settled);
  }

  /** A worker has claimed a room. */
  doubt(worker: string, key: RoomKey): void {
    this.doubts.set(key, (this.doubts.get(key) ?? new Set()).add(worker));
  }

  /** The claims of a worker hold, by default because it is gone. */
  settle(worker: string, keys: Iterable<RoomKey> = this.doubts.keys()): void {
    for (const key of [...keys]) {
      const workers = this.doubts.get(key);
      if (workers?.delete(worker) && workers.size === 0) this.doubts.delete(key);
    }
  }

  /** Whether a room that is named like the id of a socket is announced, by all that have members of it. */
  isRoom(key: RoomKey): boolean {
    if (this.doubts.has(key)) return false;
    if (this.rooms.announced.has(key)) return true;
    for (const peer of this.known.values()) if (peer.has(key)) return true;
    return false;
  }

  /** Members of other workers will enter these rooms: from now on, all workers count as having some until they answer. */
  expect(nsp: string, rooms: readonly string[]): void {
    const keys = rooms.map((room) => keyOf(nsp, room));
    const number = this.fences.start(this.known.keys());
    for (const peer of this.known.values()) peer.expect(keys, number);
  }

  /**
   * Resolves when all workers know the rooms that this one has members of. A worker that does not answer within a second
   * is not waited for.
   */
  announced(): Promise<void> {
    this.announce();
    return this.fences.pass(this.known.keys());
  }

  /** @throws MalformedMessage if the message is none of these */
  receive(from: string, type: number, body: Buffer): void {
    const peer = this.peerOf(from);
    const numbers = numbersOf(body);
    const [first = 0] = numbers;
    switch (type) {
      case types.added: {
        const added = numbers.slice(1);
        peer.add(added);
        return this.events.onAdded(peer, added, first);
      }
      case types.removed:
        return peer.delete(numbers);
      case types.rooms:
        return peer.replace(numbers);
      case types.checksum:
        return this.compare(peer, numbers);
      case types.missing:
        // Until then, the worker sends everything. It asks again with the next checksum.
        if (this.clockOf(peer.route).isKnown) this.tell(from, numbersMessage(types.rooms, this.rooms.announced));
        return;
      case types.ping:
        this.announce();
        return this.tell(from, numbersMessage(types.pong, numbers));
      case types.pong:
        peer.answered(first);
        return this.fences.answered(from, first);
      default:
        throw new MalformedMessage(`a message has the unknown type ${type}`);
    }
  }

  tell(worker: string, message: Buffer): void {
    const route = this.known.get(worker)?.route;
    route?.add(worker, message);
    route?.send();
  }

  close(): void {
    clearInterval(this.timer);
    this.fences.close();
  }

  private announceSoon(): void {
    if (this.enteredAt !== undefined) return;
    this.enteredAt = ticksNow();
    process.nextTick(() => this.announce());
  }

  private compare(peer: Peer, [count = 0, sum = 0, time = 0]: readonly number[]): void {
    this.clockOf(peer.route).note(time, ticksNow());
    if (!peer.matches(count, sum)) this.tell(peer.id, missing());
  }

  private clockOf(route: Route): RemoteClock {
    const known = this.clocks.get(route);
    if (known) return known;
    const clock = new RemoteClock();
    this.clocks.set(route, clock);
    return clock;
  }

  private checksum(): Buffer {
    const { count, sum } = this.rooms.announced.checksum;
    return numbersMessage(types.checksum, [count, sum, ticksNow()]);
  }

  private check(): void {
    this.tellAll(() => this.checksum());
    this.events.onCheck();
  }

  /** @param messageFor makes the message for the workers on a route, if they are to get one */
  private tellAll(messageFor: (route: Route) => Buffer | undefined): void {
    const messages = new Map<Route, Buffer>();
    for (const { id, route } of this.known.values()) {
      const message = messages.get(route) ?? messageFor(route);
      if (!message) continue;
      messages.set(route, message);
      route.add(id, message);
    }
    for (const route of messages.keys()) route.send();
  }
}

const missing = (): Buffer => messageOf(types.missing, Buffer.alloc(0));
