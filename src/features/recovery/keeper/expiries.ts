import { machineTime } from '../../../base/clock.js';
import type { SessionState } from '../messages.js';
import type { KeptSession } from './sessions.js';
import type { KeptPacket } from './stream.js';

/** How much there is to look at in a packet. */
export function looksOf({ rooms, except }: KeptPacket): number {
  return 1 + rooms.length + except.length;
}

/** Those of a client's rooms to which a packet was sent, none for a packet to all; undefined if it is not for the client. */
export function roomsFor({ rooms, except }: KeptPacket, ofClient: ReadonlySet<string>): string[] | undefined {
  const isIn = (room: string) => ofClient.has(room);
  if (except.some(isIn)) return undefined;
  const joined = rooms.filter(isIn);
  return rooms.length === 0 || joined.length > 0 ? joined : undefined;
}

/** The packets of one sender by room. It is made when a client returns that lacks many packets, and not before. */
export class PacketsByRoom {
  /** The number of the newest packet in it. */
  last = 0;
  /** How much it has looked at, packets that are not kept any more included. */
  size = 0;
  private readonly rooms = new Map<string, KeptPacket[]>();
  private readonly except = new Map<string, KeptPacket[]>();
  private readonly toAll: KeptPacket[] = [];

  add(packet: KeptPacket): void {
    this.last = packet.number;
    this.size += looksOf(packet);
    if (packet.rooms.length === 0) this.toAll.push(packet);
    for (const room of packet.rooms) list(this.rooms, room, packet);
    for (const room of packet.except) list(this.except, room, packet);
  }

  /** See `forRooms()` of the stream. */
  find(rooms: ReadonlySet<string>, number: number): Iterable<readonly [KeptPacket, readonly string[]]> {
    // A packet may be for several rooms.
    const found = new Map<KeptPacket, string[]>();
    for (const packet of behind(this.toAll, number)) found.set(packet, []);
    for (const room of rooms) {
      for (const packet of behind(this.rooms.get(room), number)) {
        const known = found.get(packet);
        if (known) known.push(room);
        else found.set(packet, [room]);
      }
    }
    for (const room of rooms) for (const packet of behind(this.except.get(room), number)) found.delete(packet);
    return found;
  }
}

function list(byRoom: Map<string, KeptPacket[]>, room: string, packet: KeptPacket): void {
  const packets = byRoom.get(room);
  if (packets) packets.push(packet);
  else byRoom.set(room, [packet]);
}

function behind(packets: readonly KeptPacket[] = [], number: number): readonly KeptPacket[] {
  return packets.slice(firstBehind(packets, number));
}

/** The position of the first packet behind a number. Packets are in order. */
export function firstBehind(packets: readonly KeptPacket[], number: number, head = 0): number {
  let [low, high] = [head, packets.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (packets[middle]!.number > number) high = middle;
    else low = middle + 1;
  }
  return low;
}

interface Wait {
  /** What is not received yet. */
  readonly missing: Map<string, number>;
  readonly end: (isReceived: boolean) => void;
}

/** Clients that wait for broadcasts that the keeper has not received yet. Others are not looked at, whatever offsets name. */
export class Waits {
  /** The oldest first. */
  private readonly all = new Set<Wait>();
  /** The first broadcast of each sender that may be waited for. */
  private readonly first = new Map<string, number>();

  /** @param max how many there may be */
  constructor(private readonly max: number) {}

  /**
   * Waits for one broadcast of each sender.
   * @param ms how long
   * @returns false if that was too long, or if there were too many waits and this one was the oldest
   */
  start(missing: Iterable<readonly [sender: string, number: number]>, ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isReceived: boolean) => {
        clearTimeout(timer);
        this.all.delete(wait);
        resolve(isReceived);
      };
      const wait: Wait = { missing: new Map(missing), end };
      const timer = setTimeout(() => end(false), ms);
      this.all.add(wait);
      for (const [sender, number] of missing) this.await(sender, number);
      // What is waited for in good faith comes within milliseconds.
      const [oldest] = this.all;
      if (this.all.size > this.max) oldest!.end(false);
    });
  }

  /** The keeper has received the broadcasts of a sender up to this number. */
  received(sender: string, number: number): void {
    if (number < (this.first.get(sender) ?? Number.POSITIVE_INFINITY)) return;
    this.first.delete(sender);
    for (const { missing, end } of this.all) {
      const awaited = missing.get(sender);
      if (awaited === undefined) continue;
      if (awaited > number) this.await(sender, awaited);
      else if (missing.delete(sender) && missing.size === 0) end(true);
    }
  }

  close(): void {
    for (const { end } of this.all) end(false);
  }

  private await(sender: string, number: number): void {
    this.first.set(sender, Math.min(number, this.first.get(sender) ?? number));
  }
}

/** The session of a client that can no longer be recovered. */
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own default
export interface ExpiredSession<Data = any> {
  /** The id that its socket had. */
  readonly id: string;
  /** Empty if a bound had dropped the session before. */
  readonly rooms: readonly string[];
  /** `socket.data`; undefined if a bound had dropped the session before. */
  readonly data: Data | undefined;
}

export type ExpiryListener = (session: ExpiredSession) => void;

/** What is remembered of a session until it expires. */
type Session = Pick<SessionState, 'pid' | 'sid' | 'rooms' | 'data'> & {
  readonly disconnectedAt: number;
};

interface Limits {
  readonly durationMs: () => number;
  readonly maxSessions: () => number;
}

/** Reports each session of which the client has not returned in time, once. It remembers nothing while nobody listens. */
export class Expiries<S extends Session = KeptSession> {
  private readonly pending = new Map<string, { readonly session: S; readonly due: number }>();
  private listener: ExpiryListener | undefined;

  constructor(private readonly limits: Limits) {}

  /** Whom to tell; undefined for nobody. */
  set report(listener: ExpiryListener | undefined) {
    this.listener = listener;
    if (!listener) this.pending.clear();
  }

  /** A client is disconnected, and may return. */
  add(session: S): void {
    if (!this.listener) return;
    this.pending.delete(session.pid);
    this.pending.set(session.pid, { session, due: session.disconnectedAt + this.limits.durationMs() });
    if (this.pending.size > this.limits.maxSessions()) this.pending.delete(this.pending.keys().next().value!);
  }

  /** A bound has dropped the session. Its rooms and data must not stay in memory. */
  shrink(pid: string): void {
    const known = this.pending.get(pid);
    if (known) this.pending.set(pid, { ...known, session: { ...known.session, rooms: [], data: undefined } });
  }

  /** The client returns, or the session is no longer of this machine. */
  forget(pid: string): void {
    this.pending.delete(pid);
  }

  /** Some sessions have been ended before their time. */
  endWhere(matches: (session: S) => boolean): void {
    const due = machineTime() - 1;
    for (const [pid, { session }] of this.pending) if (matches(session)) this.pending.set(pid, { session, due });
  }

  /** The client has returned, and could not be recovered. */
  failed(session: S): void {
    this.pending.delete(session.pid);
    const { sid: id, rooms, data } = session;
    this.listener?.({ id, rooms: rooms.filter((room) => room !== id), data });
  }

  sweep(now = machineTime()): void {
    for (const { session, due } of this.pending.values()) if (due < now) this.failed(session);
  }

  close(): void {
    this.report = undefined;
  }
}
