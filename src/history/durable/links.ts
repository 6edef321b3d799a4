import { randomUUID } from 'node:crypto';
import type { Namespace } from 'socket.io';
import { owned } from '../../base/owner.js';
import { hasOthers } from '../../rooms/index.js';
import type { AnnouncedMessages, AnnouncedPositions } from '../conversations/announcer.js';

/** The event between workers. */
const EVENT = 'gjallar:durable';
/** How often a worker shows the others that nothing is missing, in ms: less than for how long positions are announced. */
const BEAT_MS = 2000;
/** A worker without a beat for so long is gone, in ms. */
const GONE_MS = 3 * BEAT_MS;
/** How long gaps are collected, in ms: after an outage, all workers show one. */
const GAP_WINDOW_MS = 50;

interface Listener {
  onMessages(messages: AnnouncedMessages): void;
  onPositions(positions: AnnouncedPositions): void;
  /** What another worker has announced may be lost. */
  onGap(): void;
}

type Notice =
  | { readonly messages: AnnouncedMessages }
  | { readonly positions: AnnouncedPositions }
  | { readonly worker: string; readonly beat: number };

/**
 * Announces to other workers and machines what this one has kept, over any adapter with `serverSideEmit()`. Each worker
 * numbers its beats from 1 on: one that is missing shows that announcements may be, too. So do a worker whose beats end, and
 * one that is heard of for the first time, or again, in the middle of its beats.
 */
export class DurableLinks {
  private readonly worker = randomUUID();
  /** The last beats of the other workers, and when they came. The oldest are first. */
  private readonly beats = new Map<string, { beat: number; at: number }>();
  private beat = 0;
  private readonly timer: NodeJS.Timeout;
  private gap: NodeJS.Timeout | undefined;
  private readonly onEvent = (notice: unknown) => this.receive(notice);

  constructor(
    private readonly nsp: Namespace,
    private readonly listener: Listener,
  ) {
    nsp.on(EVENT as never, this.onEvent as never);
    this.timer = setInterval(
      owned('announcing durable rooms', () => this.turn()),
      BEAT_MS,
    ).unref();
    this.turn();
  }

  send(notice: Notice): void {
    const { adapter } = this.nsp;
    if (hasOthers(adapter)) adapter.serverSideEmit([EVENT, notice]);
  }

  close(): void {
    clearInterval(this.timer);
    clearTimeout(this.gap);
    this.nsp.off(EVENT as never, this.onEvent as never);
  }

  private turn(): void {
    this.send({ worker: this.worker, beat: ++this.beat });
    const now = performance.now();
    const gone = [...this.beats].filter(([, { at }]) => now - at > GONE_MS);
    for (const [worker] of gone) this.beats.delete(worker);
    // It may have kept messages that it did not live to announce.
    if (gone.length > 0) this.noteGap();
  }

  /** It comes over the backplane, where other programs may publish, too. What is malformed is dropped. */
  private receive(notice: unknown): void {
    const { messages, positions, worker, beat } = (notice ?? {}) as Record<string, unknown>;
    if (isListOf(messages, isAnnouncement)) this.listener.onMessages(messages as AnnouncedMessages);
    if (isListOf(positions, areHeads)) this.listener.onPositions(positions as AnnouncedPositions);
    if (typeof worker === 'string' && Number.isSafeInteger(beat)) this.note(worker, beat as number);
  }

  private note(worker: string, beat: number): void {
    const last = this.beats.get(worker);
    this.beats.delete(worker);
    this.beats.set(worker, { beat, at: performance.now() });
    if (beat !== (last?.beat ?? 0) + 1) this.noteGap();
  }

  private noteGap(): void {
    this.gap ??= setTimeout(() => {
      this.gap = undefined;
      this.listener.onGap();
    }, GAP_WINDOW_MS).unref();
  }
}

type Fields = Record<string, unknown>;

function isListOf(value: unknown, isOne: (fields: Fields) => boolean): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null && isOne(one));
}

const isKey = (key: unknown): boolean => typeof key === 'string' && key.startsWith('room:');

function isPosition(value: unknown): boolean {
  const { epoch, offset } = (value ?? {}) as Fields;
  return typeof epoch === 'string' && Number.isSafeInteger(offset);
}

function isAnnouncement({ key, messages }: Fields): boolean {
  const isMessage = (one: Fields) => isPosition(one) && typeof one.from === 'string' && typeof one.text === 'string';
  return isKey(key) && isListOf(messages, isMessage) && (messages as unknown[]).length > 0;
}

function areHeads({ key, first, last }: Fields): boolean {
  return isKey(key) && isPosition(first) && isPosition(last);
}
