import type { Socket } from 'socket.io';
import type { SocketId } from 'socket.io-adapter';
import type { KeptPacket, Mark } from '../kept/stream.js';
import { decodeOffset, type Offset } from '../offset.js';

/** How much work may be done before other clients are served. */
const MAX_UNITS = 500;
const MIN_PAUSE_MS = 1;

/**
 * Spreads the work of recoveries over time: after each part, the worker serves its other clients for as long as that part
 * took, however many return at once. A unit is about what it takes to join a room or to send a packet.
 */
export class Turns {
  private queue: { readonly cost: number; readonly go: () => void }[] = [];
  private head = 0;
  private units = MAX_UNITS;
  private startedAt: number | undefined;
  private immediate: NodeJS.Immediate | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** Resolves when so much work may be done, in the order of the calls. It must then be done at once. */
  take(cost: number): Promise<void> {
    if (this.head === this.queue.length && this.units > 0) {
      this.spend(cost);
      return Promise.resolve();
    }
    return new Promise((go) => this.queue.push({ cost, go }));
  }

  close(): void {
    clearImmediate(this.immediate);
    clearTimeout(this.timer);
    for (const { go } of this.queue.slice(this.head)) go();
    this.queue = [];
    this.head = 0;
  }

  private spend(cost: number): void {
    this.units -= cost;
    if (this.startedAt !== undefined) return;
    this.startedAt = performance.now();
    this.immediate = setImmediate(() => {
      // A worker that gets little of the processor thus rests longer, too.
      const pause = Math.max(MIN_PAUSE_MS, performance.now() - this.startedAt!);
      this.timer = setTimeout(() => this.renew(), pause);
    });
  }

  private renew(): void {
    this.startedAt = undefined;
    this.units = MAX_UNITS;
    while (this.units > 0 && this.head < this.queue.length) {
      const { cost, go } = this.queue[this.head++]!;
      this.spend(cost);
      go();
    }
    if (this.head * 2 < this.queue.length) return;
    this.queue = this.queue.slice(this.head);
    this.head = 0;
  }
}

/** How many are noted of all clients together, and of one. Clients may make them up. */
const MAX_LEADS = 50_000;
const MAX_OF_CLIENT = 64;
/** The longest offset of a client with a new session that is read, in characters: that of about 300 workers. */
const MAX_TEXT = 4096;
/** A broadcast that was sent so long after the last one that a client has received, it cannot have, in ms. */
const MAX_SLACK_MS = 2000;
/** A broadcast that comes later than that does not come at all, in ms. */
const MAX_DELAY_MS = 10_000;

/** What a client has received and this worker has not, by sender. */
interface Lead {
  readonly numbers: Map<string, number>;
  /** The client has received nothing that was sent later, in ms since 1970. */
  readonly until: number;
  /** Since when the client is connected. */
  readonly since: number;
}

/** What the client of a new session says that it has received in the session before. */
export function receivedBefore({ handshake }: Socket): Offset | undefined {
  const { offset } = (handshake.auth ?? {}) as { offset?: unknown };
  return typeof offset === 'string' && offset.length <= MAX_TEXT ? decodeOffset(offset) : undefined;
}

/**
 * Connected sockets whose clients have received broadcasts that this worker has not: their former worker got them first.
 * They are not to get these again, whether their session is recovered or new. The offset of the client tells what it has.
 */
export class Ahead {
  /** The oldest first. */
  private readonly clients = new Map<SocketId, Lead>();
  private readonly bySender = new Map<string, Set<SocketId>>();
  /** How many broadcasts are noted. */
  size = 0;

  /**
   * @param lastOf the number of the last broadcast of a sender that this worker has received
   * @returns what is noted
   */
  add(
    sid: SocketId,
    { senders, at }: Pick<Offset, 'senders' | 'at'>,
    lastOf: (sender: string) => number,
  ): ReadonlyMap<string, number> | undefined {
    const numbers = new Map<string, number>();
    for (const [sender, number] of senders) {
      if (number > lastOf(sender)) numbers.set(sender, number);
      if (numbers.size === MAX_OF_CLIENT) break;
    }
    if (numbers.size === 0) return undefined;
    const now = Date.now();
    this.clients.set(sid, { numbers, until: Math.min(at, now) + MAX_SLACK_MS, since: now });
    for (const sender of numbers.keys()) {
      const sids = this.bySender.get(sender) ?? new Set();
      this.bySender.set(sender, sids.add(sid));
    }
    this.size += numbers.size;
    while (this.size > MAX_LEADS) this.remove(this.clients.keys().next().value!);
    return new Map(numbers);
  }

  /** This worker delivers a broadcast now. Returns the sockets whose clients have received it. */
  having([sender, number, at]: Mark): SocketId[] {
    const having: SocketId[] = [];
    for (const sid of this.bySender.get(sender) ?? []) {
      const { numbers, until } = this.clients.get(sid)!;
      const last = numbers.get(sender)!;
      if (number <= last && at <= until) having.push(sid);
      if (number >= last || at > until) this.forget(sid, sender);
    }
    return having;
  }

  remove(sid: SocketId): void {
    for (const sender of this.clients.get(sid)?.numbers.keys() ?? []) this.forget(sid, sender);
  }

  sweep(): void {
    const oldest = Date.now() - MAX_DELAY_MS;
    for (const [sid, { since }] of this.clients) {
      if (since >= oldest) return;
      this.remove(sid);
    }
  }

  private forget(sid: SocketId, sender: string): void {
    const sids = this.bySender.get(sender)!;
    sids.delete(sid);
    if (sids.size === 0) this.bySender.delete(sender);
    const { numbers } = this.clients.get(sid)!;
    numbers.delete(sender);
    this.size--;
    if (numbers.size === 0) this.clients.delete(sid);
  }
}

/** A message that nothing numbers: of an emitter, or of a server without recovery. */
export interface ForeignMessage extends Pick<KeptPacket, 'rooms' | 'except'> {
  /** When it arrived, in ms since 1970. */
  readonly at: number;
}

const MAX_MESSAGES = 10_000;

/** The recent messages without a mark. A client that may lack one is not recovered. */
export class ForeignMessages {
  /** All that have arrived since then are remembered, in ms since 1970. */
  since = 0;
  /** The oldest first. */
  private messages: ForeignMessage[] = [];

  /** @param max how many are remembered */
  constructor(private readonly max = MAX_MESSAGES) {}

  get all(): readonly ForeignMessage[] {
    return this.messages;
  }

  /** When the newest one arrived. */
  get lastAt(): number {
    return this.messages.at(-1)?.at ?? 0;
  }

  add(message: ForeignMessage): void {
    this.messages.push(message);
    if (this.messages.length > this.max) this.since = this.messages.shift()!.at;
  }

  /** Adds what another worker remembers. Some of it may have arrived here, too, which does no harm. */
  learn(messages: readonly ForeignMessage[]): void {
    if (messages.length === 0) return;
    const merged = [...this.messages, ...messages].sort((one, other) => one.at - other.at);
    const surplus = merged.length - this.max;
    if (surplus > 0) this.since = Math.max(this.since, merged[surplus - 1]!.at);
    this.messages = surplus > 0 ? merged.slice(surplus) : merged;
  }

  /** Whether one arrived since a time that a client with these rooms was to receive. */
  hasFor(rooms: ReadonlySet<string>, since: number): boolean {
    for (let index = this.messages.length - 1; index >= 0 && this.messages[index]!.at >= since; index--) {
      if (isFor(rooms, this.messages[index]!)) return true;
    }
    return false;
  }

  /** Forgets what arrived before a time. */
  sweep(oldest: number): void {
    while (this.messages[0] && this.messages[0].at < oldest) this.messages.shift();
  }
}

function isFor(members: ReadonlySet<string>, { rooms, except }: ForeignMessage): boolean {
  const isIn = (room: string) => members.has(room);
  return (rooms.length === 0 || rooms.some(isIn)) && !except.some(isIn);
}
