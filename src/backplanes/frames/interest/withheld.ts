import type { RoomKey } from './room-key.js';

/** How long messages are kept, in ticks: as long as a fence is waited for. */
const MAX_AGE = 10_000;
const MAX_MESSAGES = 1000;
const MAX_BYTES = 4 * 1024 * 1024;
/** What a receiver takes in an entry. */
const BYTES_PER_RECEIVER = 8;
/** After this time, nothing is on its way any more that concerns a message. In ticks. */
const MEMORY = 600_000;

/** Another worker, or a machine. */
interface Receiver {
  readonly id: string;
}

/** A message to rooms. */
interface RoomMessage {
  readonly keys: readonly RoomKey[];
  readonly bytes: number;
}

interface Entry<Message> {
  /** When the message left, or would have left. */
  readonly time: number;
  readonly message: Message;
  /** The workers that have got it. */
  readonly receivers: Receiver[];
}

/**
 * Messages that were not sent to some workers because these had announced no members of the rooms. A worker whose
 * announcement was on its way meanwhile gets them afterwards. They are kept for a second and within bounds.
 */
export class Withheld<Message extends RoomMessage> {
  private entries: Entry<Message>[] = [];
  /** The first entry that is kept. */
  private first = 0;
  private bytes = 0;
  /** The time of the latest message that was discarded. */
  private discarded: number | undefined;

  /** @param onLate called for an announcement that comes when messages to its rooms may have been discarded */
  constructor(private readonly onLate: () => void) {}

  keep(message: Message, receivers: Receiver[], now: number): void {
    this.entries.push({ time: now, message, receivers });
    this.bytes += sizeOf(message, receivers);
    while (this.bytes > MAX_BYTES || this.entries.length - this.first > MAX_MESSAGES) this.discard();
  }

  /** The messages to these rooms that the worker has not got, of those that left at `since` or later, oldest first. */
  takeFor(peer: Receiver, keys: readonly RoomKey[], since: number): Message[] {
    if (this.discarded !== undefined && ((this.discarded - since) | 0) >= 0) this.onLate();
    const rooms = new Set(keys);
    const taken: Message[] = [];
    for (let index = this.entries.length - 1; index >= this.first; index--) {
      const { time, message, receivers } = this.entries[index]!;
      if (((time - since) | 0) < 0) break;
      // After a broken link, a worker has the same id.
      if (!message.keys.some((key) => rooms.has(key)) || receivers.some(({ id }) => id === peer.id)) continue;
      receivers.push(peer);
      this.bytes += BYTES_PER_RECEIVER;
      taken.push(message);
    }
    return taken.reverse();
  }

  /** Discards what is too old. Call this now and then. */
  expire(now: number): void {
    while (this.first < this.entries.length && ((now - this.entries[this.first]!.time) | 0) > MAX_AGE) this.discard();
    if (this.discarded !== undefined && ((now - this.discarded) | 0) > MEMORY) this.discarded = undefined;
  }

  private discard(): void {
    const { time, message, receivers } = this.entries[this.first++]!;
    this.discarded = time;
    this.bytes -= sizeOf(message, receivers);
    // Seldom, so that discarding a message costs little.
    if (this.first * 2 > this.entries.length) {
      this.entries = this.entries.slice(this.first);
      this.first = 0;
    }
  }
}

function sizeOf({ bytes }: RoomMessage, receivers: readonly Receiver[]): number {
  return bytes + BYTES_PER_RECEIVER * receivers.length;
}
