import { hrtime, nextTick } from '../../../../base/clock.js';
import { Question } from '../../../../base/question.js';
import type { RoomKey } from './rooms.js';

/**
 * The time in ticks of 0.1 ms, modulo 2^32, so that it takes four bytes in a message. All workers of a machine share this
 * clock. Two times are compared by their difference, `(a - b) | 0`.
 */
export function ticksNow(): number {
  return Number(hrtime.bigint() / 100_000n) | 0;
}

/** How long an answer is waited for, in ms. */
const TIMEOUT_MS = 1000;

/** Numbered questions to other workers whether they have handled everything that was sent to them before. */
export class Fences {
  private readonly open = new Map<number, Question<string>>();
  private last = 0;
  private planned: Promise<boolean> | undefined;

  /** @param ping sends a number to a worker, which answers with the same number */
  constructor(private readonly ping: (number: number, worker: string) => void) {}

  /** Sends a ping to the workers. Returns its number. */
  start(workers: Iterable<string>): number {
    this.last = (this.last + 1) & 0x7fffffff;
    for (const worker of workers) this.ping(this.last, worker);
    return this.last;
  }

  /** Resolves with whether all these workers have answered in time. All calls of one tick share a ping. */
  pass(workers: Iterable<string>): Promise<boolean> {
    this.planned ??= new Promise((resolve) => {
      nextTick(() => {
        this.planned = undefined;
        this.openFence([...workers], resolve);
      });
    });
    return this.planned;
  }

  answered(worker: string, number: number): void {
    this.open.get(number)?.gone(worker);
  }

  /** A worker may not have heard what it was asked. */
  askAgain(worker: string): void {
    for (const [number, { missing }] of this.open) if (missing.has(worker)) this.ping(number, worker);
  }

  /** A worker that is gone does not answer. */
  leave(worker: string): void {
    for (const question of [...this.open.values()]) question.gone(worker);
  }

  close(): void {
    for (const question of [...this.open.values()]) question.end();
  }

  private openFence(workers: readonly string[], resolve: (isAnswered: boolean) => void): void {
    if (workers.length === 0) return resolve(true);
    const number = this.start([]);
    const question = new Question<string>(workers, TIMEOUT_MS, ({ missing }) => {
      this.open.delete(number);
      resolve(missing.size === 0);
    });
    this.open.set(number, question);
    for (const worker of workers) this.ping(number, worker);
  }
}

/** How long messages are kept, in ticks: as long as a fence is waited for. */
const MAX_AGE = 10_000;
/** How often they are discarded while no others come, in ms. */
const EXPIRY_MS = 2000;
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
  private timer: NodeJS.Timeout | undefined;

  /** @param onLate called for an announcement that comes when messages to its rooms may have been discarded */
  constructor(private readonly onLate: () => void) {}

  keep(message: Message, receivers: Receiver[], now: number): void {
    this.expire(now);
    this.entries.push({ time: now, message, receivers });
    this.bytes += sizeOf(message, receivers);
    while (this.bytes > MAX_BYTES || this.entries.length - this.first > MAX_MESSAGES) this.discard();
    this.timer ??= setTimeout(() => this.expireLater(), EXPIRY_MS).unref();
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

  private expireLater(): void {
    this.expire(ticksNow());
    this.timer = undefined;
    if (this.first < this.entries.length) this.timer = setTimeout(() => this.expireLater(), EXPIRY_MS).unref();
  }

  /** Discards what is too old. */
  private expire(now: number): void {
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
