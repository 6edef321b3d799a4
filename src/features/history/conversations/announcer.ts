import { setImmediate } from '../../../base/clock.js';
import { MalformedMessage } from '../../../base/errors.js';
import type { OpenService, ServiceChannel } from '../../../io/rooms/index.js';
import { type LinkedMessage, type Position, positionOf } from '../store.js';
import { newestTag, seeTag } from '../tags.js';
import { DIRECT, ROOM } from './conversation.js';

/** New messages of a conversation. */
interface AnnouncedMessages {
  readonly key: string;
  readonly messages: readonly LinkedMessage[];
}

/** The newest position of a conversation, and the first of those that were announced in the last moments. */
interface AnnouncedPosition {
  readonly key: string;
  readonly first: Position;
  readonly last: Position;
}

/** What workers tell each other: one of these. */
interface Announced {
  /** The newest tag, for a worker that is met: its clock may be behind. */
  readonly newest?: number;
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
  onMessages(key: string, messages: readonly LinkedMessage[]): void;
  /** A worker knows of this position of a conversation, and may not have announced it to this one. */
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
  private messages = new Map<string, LinkedMessage[]>();
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
        this.channel.send({ newest: newestTag() } satisfies Announced, worker);
        if (isNew) return;
        this.noteGap();
        this.announcePositions(worker);
      },
      onGone: () => this.noteGap(),
    });
  }

  announce(key: string, messages: LinkedMessage[]): void {
    const waiting = this.messages.get(key);
    if (waiting) waiting.push(...messages);
    else this.messages.set(key, messages);
    if (key.startsWith(DIRECT)) this.note(key, messages[0]!, messages.at(-1)!);
    if (this.isScheduled) return;
    this.isScheduled = true;
    // All messages of one turn of the event loop share an announcement.
    setImmediate(() => this.announceMessages());
  }

  /** A message was kept twice with the same key. The first one may not have been announced, if its answer was lost. */
  announceRepeated(key: string, last: Position): void {
    const position = positionOf(last);
    this.channel.send({ positions: [{ key, first: position, last: position }] } satisfies Announced);
    this.events.onPosition(key, position, position);
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
    this.recent.delete(key);
    this.recent.set(key, { first: known?.first ?? positionOf(first), last: positionOf(last), at: now });
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
    const { messages, positions, newest } = (announced ?? {}) as Announced;
    const isAnnounced =
      Number.isSafeInteger(newest) || (messages ? areAll(messages, isAnnouncement) : areAll(positions, isRecent));
    if (!isAnnounced) throw new MalformedMessage('an announcement of messages is malformed');
    if (newest !== undefined) seeTag(newest);
    for (const { key, messages: posted } of messages ?? []) {
      seeTag(posted.at(-1)!.tag);
      this.events.onMessages(key, posted);
    }
    for (const { key, first, last } of positions ?? []) this.events.onPosition(key, first, last);
  }

  private noteGap(): void {
    this.gap ??= setTimeout(() => {
      this.gap = undefined;
      this.events.onGap();
    }, GAP_WINDOW_MS).unref();
  }
}

function areAll<One>(values: readonly One[] | undefined, isOne: (one: One) => boolean): boolean {
  return Array.isArray(values) && values.every((one) => typeof one === 'object' && one !== null && isOne(one));
}

const isKey = (key: unknown): boolean => typeof key === 'string' && (key.startsWith(ROOM) || key.startsWith(DIRECT));

const isPosition = ({ offset, tag }: Position): boolean => Number.isSafeInteger(offset) && Number.isSafeInteger(tag);

function isAnnouncement({ key, messages }: AnnouncedMessages): boolean {
  const isMessage = (one: LinkedMessage) =>
    isPosition(one) && Number.isSafeInteger(one.before) && typeof one.from === 'string' && typeof one.text === 'string';
  return isKey(key) && areAll(messages, isMessage) && messages.length > 0;
}

function isRecent({ key, first, last }: AnnouncedPosition): boolean {
  return isKey(key) && areAll([first, last], isPosition);
}
