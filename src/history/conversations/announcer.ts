import type { Position, StoredMessage } from '../store.js';

/** New messages, as workers announce them to each other. */
export type AnnouncedMessages = { key: string; messages: StoredMessage[] }[];

/** The newest positions of conversations, with the first of those that were announced in the last moments. */
export type AnnouncedPositions = { key: string; first: Position; last: Position }[];

/** How often positions are announced. */
const INTERVAL_MS = 1000;
/** In how many rounds a position is announced. */
const ROUNDS = 3;
/** How many conversations have their position announced again. Beyond it those with the oldest messages do not. */
const MAX_POSITIONS = 10_000;

/**
 * Announces to all other workers what was posted here: the messages at once, and for some seconds the newest position
 * of each conversation, so that a worker that a message was lost to reads it from the history.
 */
export class Announcer {
  private messages = new Map<string, StoredMessage[]>();
  private readonly positions = new Map<string, { first: Position; last: Position; rounds: number }>();
  private isScheduled = false;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly events: {
      announceMessages(messages: AnnouncedMessages): void;
      announcePositions(positions: AnnouncedPositions): void;
    },
  ) {
    this.timer = setInterval(() => this.announcePositions(), INTERVAL_MS).unref();
  }

  announce(key: string, messages: StoredMessage[]): void {
    const waiting = this.messages.get(key);
    if (waiting) waiting.push(...messages);
    else this.messages.set(key, messages);
    this.note(key, messages[0]!, messages.at(-1)!);
    if (this.isScheduled) return;
    this.isScheduled = true;
    // All messages of one turn of the event loop share an announcement.
    setImmediate(() => this.announceMessages());
  }

  /** Announces what is scheduled, and ends. */
  close(): void {
    clearInterval(this.timer);
    this.announceMessages();
  }

  private note(key: string, first: Position, last: Position): void {
    const known = this.positions.get(key);
    this.positions.delete(key);
    const isSameLog = known?.last.epoch === last.epoch;
    const position = { first: isSameLog ? known!.first : positionOf(first), last: positionOf(last), rounds: ROUNDS };
    this.positions.set(key, position);
    if (this.positions.size > MAX_POSITIONS) this.positions.delete(this.positions.keys().next().value!);
  }

  private announceMessages(): void {
    this.isScheduled = false;
    if (this.messages.size === 0) return;
    const messages = [...this.messages].map(([key, posted]) => ({ key, messages: posted }));
    this.messages = new Map();
    this.events.announceMessages(messages);
  }

  private announcePositions(): void {
    if (this.positions.size === 0) return;
    this.events.announcePositions([...this.positions].map(([key, { first, last }]) => ({ key, first, last })));
    for (const [key, position] of this.positions) {
      position.rounds--;
      if (position.rounds === 0) this.positions.delete(key);
    }
  }
}

function positionOf({ epoch, offset }: Position): Position {
  return { epoch, offset };
}
