import type { KeptPacket } from '../kept/stream.js';

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
