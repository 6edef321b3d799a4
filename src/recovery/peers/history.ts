import { owned } from '../../base/owner.js';
import type { RecoveryHost } from '../host.js';
import type { RecoveryMessage } from '../messages.js';
import { Lessons } from './lessons.js';
import type { Owner } from './owner.js';
import { sessionState } from './session-state.js';

/** The number of sessions in one message with history. */
const CHUNK_SESSIONS = 100;
const CHUNK_FOREIGN = 1000;

export type HistoryMessage = Extract<RecoveryMessage, { type: 'history' }>;

/** How a worker that starts gets what the others keep. */
export class HistoryExchange {
  /** Resolves when this worker has what the others had kept before it started. */
  readonly ready: Promise<void>;
  private teacher: number | undefined;
  /** The workers of whose own broadcasts this one waits for the last. */
  private readonly telling = new Set<number>();
  /** By the worker that gives them. */
  private readonly lessons = new Map<number, Lessons>();
  /** Since when this worker receives what the others send. */
  private startedAt = 0;
  /** Workers without the namespace. */
  private readonly absent = new Set<number>();
  private learnt: () => void = () => {};

  /** @param maxWaitMs how long a worker that starts waits for the others */
  constructor(
    private readonly recovery: Pick<Owner, 'nsp' | 'log' | 'sessions' | 'foreign' | 'deliver'>,
    private readonly host: RecoveryHost,
    maxWaitMs: number,
  ) {
    this.ready = new Promise((resolve) => {
      this.learnt = resolve;
    });
    setTimeout(() => this.learnt(), maxWaitMs).unref();
  }

  /**
   * Asks the oldest worker of the machine for its history. The last packets of the other ones may still be on their way to
   * it, and may have reached this worker before it could keep them, so that their senders are asked, too.
   */
  ask(): void {
    this.startedAt ||= this.recovery.log.startedAt;
    const nsp = this.recovery.nsp.name;
    const present = this.host.members.filter((member) => !this.absent.has(member));
    const [teacher, ...others] = present.sort((a, b) => a - b);
    this.teacher = teacher;
    if (teacher !== undefined) this.host.send(teacher, { type: 'ask', nsp });
    for (const other of others) {
      this.telling.add(other);
      this.host.send(other, { type: 'ask', nsp, isOwn: true });
    }
    this.check();
  }

  async teach(to: number, isOwn = false): Promise<void> {
    // The other worker may have missed what is on its way to this one.
    const isCurrent = !this.host.spansMachines || isOwn || (await this.host.caughtUp());
    const { log, sessions, foreign, nsp } = this.recovery;
    const parts: Pick<HistoryMessage, 'streams' | 'sessions' | 'foreign'>[] = [];
    const streams = isOwn ? log.ownEnd() : Array.from(log.parts(), ([part]) => part);
    for (const stream of streams) parts.push({ streams: [stream], sessions: [] });
    const states = isOwn ? [] : [...sessions.all()].map(sessionState);
    for (let at = 0; at < states.length; at += CHUNK_SESSIONS) {
      parts.push({ streams: [], sessions: states.slice(at, at + CHUNK_SESSIONS) });
    }
    for (let at = 0; !isOwn && at < foreign.all.length; at += CHUNK_FOREIGN) {
      parts.push({ streams: [], sessions: [], foreign: foreign.all.slice(at, at + CHUNK_FOREIGN) });
    }
    const fullSince = isCurrent ? log.since : Date.now();
    const since = Math.max(fullSince, foreign.lastAt);
    const next = () => {
      const part = parts.shift() ?? { streams: [], sessions: [] };
      const isLast = parts.length === 0;
      this.host.send(to, { type: 'history', nsp: nsp.name, since, fullSince, ...part, isLast, isOwn });
      // In between, this worker serves its clients.
      if (!isLast) setImmediate(owned('telling another worker the history', next));
    };
    next();
  }

  /** Adds the broadcasts of a part. The caller keeps its sessions first. */
  learn(from: number, message: HistoryMessage): void {
    const { streams, foreign = [], isLast, isOwn = from !== this.teacher, isAbsent } = message;
    if (isAbsent) {
      this.absent.add(from);
      return this.gone(from);
    }
    const lessons = this.lessons.get(from) ?? new Lessons(this.recovery, this.startedAt, this.host.spansMachines);
    this.lessons.set(from, lessons);
    for (const stream of streams) lessons.add(stream);
    this.recovery.foreign.learn(foreign);
    if (!isLast) return;
    lessons.settle();
    this.lessons.delete(from);
    if (isOwn) this.telling.delete(from);
    else if (from === this.teacher) {
      this.knowsSince(message);
      this.teacher = undefined;
    }
    this.check();
  }

  private knowsSince({ since, fullSince = since }: HistoryMessage): void {
    const { log, foreign } = this.recovery;
    // After an outage meanwhile, what the other worker knew is not enough.
    if (log.startedAt > this.startedAt) return;
    log.since = Math.min(log.since, Math.max(fullSince, foreign.since));
  }

  /** Nothing more comes from this worker. */
  gone(worker: number): void {
    this.telling.delete(worker);
    this.lessons.delete(worker);
    if (this.teacher === worker) this.ask();
    else this.check();
  }

  private check(): void {
    if (this.teacher === undefined && this.telling.size === 0) this.learnt();
  }

  close(): void {
    this.learnt();
  }
}
