import { setImmediate } from '../../../base/clock.js';
import { MalformedMessage } from '../../../base/errors.js';
import type { OpenService, ServiceChannel } from '../../../io/rooms/index.js';
import type { Position, StoredMessage } from '../store.js';
import { DIRECT, ROOM } from './conversation.js';

/** New messages of a conversation. */
interface AnnouncedMessages {
  readonly key: string;
  readonly messages: readonly StoredMessage[];
}

/** The newest position of a direct conversation, and the first of those that were announced in the last moments. */
interface AnnouncedPosition {
  readonly key: string;
  readonly first: Position;
  readonly last: Position;
}

/** What workers tell each other: either of the two. */
interface Announced {
  readonly messages?: readonly AnnouncedMessages[];
  readonly positions?: readonly AnnouncedPosition[];
}

/** For how long after a message the position of its direct conversation is announced to workers that are met, in ms. */
const RECENT_MS = 30_000;
/** How many direct conversations have their position announced. Beyond it those with the oldest messages do not. */
const MAX_RECENT = 10_000;
/** How long gaps are collected, in ms: after an outage, all workers show one. */
const GAP_WINDOW_MS = 50;

interface AnnouncerEvents {
  onMessages(key: string, messages: readonly StoredMessage[]): void;
  /** A worker knows of this position of a direct conversation, and has not announced it to this one. */
  onPosition(key: string, first: Position, last: Position): void;
  /** What another worker has announced may be lost. */
  onGap(): void;
}

/**
 * Announces to all other workers what was posted here. A worker that ends may have kept messages that it did not live to
 * announce; so does one that was met again, as far as this worker is concerned. Both are gaps: what is missing is read from
 * the history. Nobody knows which direct conversations those would be, so workers that meet tell each other.
 */
export class Announcer {
  private readonly channel: ServiceChannel;
  private messages = new Map<string, StoredMessage[]>();
  /** The oldest are first. */
  private readonly recent = new Map<string, { first: Position; last: Position; at: number }>();
  private isScheduled = false;
  private gap: NodeJS.Timeout | undefined;

  constructor(
    open: OpenService,
    private readonly events: AnnouncerEvents,
  ) {
    this.channel = open({
      onMessage: (message) => this.receive(message),
      onHere: (worker, isNew) => {
        if (isNew) return;
        this.noteGap();
        this.announcePositions(worker);
      },
      onGone: () => this.noteGap(),
    });
  }

  announce(key: string, messages: StoredMessage[]): void {
    const waiting = this.messages.get(key);
    if (waiting) waiting.push(...messages);
    else this.messages.set(key, messages);
    if (key.startsWith(DIRECT)) this.note(key, messages[0]!, messages.at(-1)!);
    if (this.isScheduled) return;
    this.isScheduled = true;
    // All messages of one turn of the event loop share an announcement.
    setImmediate(() => this.announceMessages());
  }

  /** Announces what is scheduled, and ends. */
  close(): void {
    this.announceMessages();
    clearTimeout(this.gap);
    this.channel.close();
  }

  private note(key: string, first: Position, last: Position): void {
    const now = performance.now();
    const known = this.recent.get(key);
    const isSameLog = known?.last.epoch === last.epoch;
    this.recent.delete(key);
    this.recent.set(key, { first: isSameLog ? known!.first : positionOf(first), last: positionOf(last), at: now });
    for (const [old, { at }] of this.recent) {
      if (now - at < RECENT_MS && this.recent.size <= MAX_RECENT) break;
      this.recent.delete(old);
    }
  }

  private announceMessages(): void {
    this.isScheduled = false;
    if (this.messages.size === 0) return;
    const messages = [...this.messages].map(([key, posted]) => ({ key, messages: posted }));
    this.messages = new Map();
    this.channel.send({ messages } satisfies Announced);
    for (const { key, messages: posted } of messages) this.events.onMessages(key, posted);
  }

  private announcePositions(to: string): void {
    const since = performance.now() - RECENT_MS;
    const positions = [...this.recent]
      .filter(([, { at }]) => at > since)
      .map(([key, { first, last }]) => ({ key, first, last }));
    if (positions.length > 0) this.channel.send({ positions } satisfies Announced, to);
  }

  private receive(announced: unknown): void {
    const { messages, positions } = (announced ?? {}) as Announced;
    const isAnnounced = messages ? areAll(messages, isAnnouncement) : areAll(positions, isRecent);
    if (!isAnnounced) throw new MalformedMessage('an announcement of messages is malformed');
    for (const { key, messages: posted } of messages ?? []) this.events.onMessages(key, posted);
    for (const { key, first, last } of positions ?? []) this.events.onPosition(key, first, last);
  }

  private noteGap(): void {
    this.gap ??= setTimeout(() => {
      this.gap = undefined;
      this.events.onGap();
    }, GAP_WINDOW_MS).unref();
  }
}

function positionOf({ epoch, offset }: Position): Position {
  return { epoch, offset };
}

function areAll<One>(values: readonly One[] | undefined, isOne: (one: One) => boolean): boolean {
  return Array.isArray(values) && values.every((one) => typeof one === 'object' && one !== null && isOne(one));
}

const isKey = (key: unknown): boolean => typeof key === 'string' && (key.startsWith(ROOM) || key.startsWith(DIRECT));

const isPosition = ({ epoch, offset }: Position): boolean => typeof epoch === 'string' && Number.isSafeInteger(offset);

function isAnnouncement({ key, messages }: AnnouncedMessages): boolean {
  const isMessage = (one: StoredMessage) =>
    isPosition(one) && typeof one.from === 'string' && typeof one.text === 'string';
  return isKey(key) && areAll(messages, isMessage) && messages.length > 0;
}

function isRecent({ key, first, last }: AnnouncedPosition): boolean {
  return isKey(key) && areAll([first, last], isPosition);
}
