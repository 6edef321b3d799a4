import type { RecoveryHost } from '../host.js';
import type { RecoveryMessage } from '../messages.js';
import type { Owner } from './owner.js';
import { sessionState } from './session-state.js';

/** The number of sessions in one message with history. */
const CHUNK_SESSIONS = 100;

export type HistoryMessage = Extract<RecoveryMessage, { type: 'history' }>;

/** How a worker that starts gets what the others keep. */
export class HistoryExchange {
  /** Resolves when this worker has what the others had kept before it started. */
  readonly ready: Promise<void>;
  private teacher: number | undefined;
  /** The workers of whose own broadcasts this one waits for the last. */
  private readonly telling = new Set<number>();
  /** Workers without the namespace. */
  private readonly absent = new Set<number>();
  private learnt: () => void = () => {};

  /** @param maxWaitMs how long a worker that starts waits for the others */
  constructor(
    private readonly recovery: Pick<Owner, 'nsp' | 'log' | 'sessions' | 'deliver'>,
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

  teach(to: number, isOwn = false): void {
    const { log, sessions, nsp } = this.recovery;
    const parts: Pick<HistoryMessage, 'streams' | 'sessions'>[] = [];
    const streams = isOwn ? log.ownEnd() : Array.from(log.parts(), ([part]) => part);
    for (const stream of streams) parts.push({ streams: [stream], sessions: [] });
    const states = isOwn ? [] : [...sessions.all()].map(sessionState);
    for (let at = 0; at < states.length; at += CHUNK_SESSIONS) {
      parts.push({ streams: [], sessions: states.slice(at, at + CHUNK_SESSIONS) });
    }
    const { since } = log;
    const next = () => {
      const part = parts.shift() ?? { streams: [], sessions: [] };
      const isLast = parts.length === 0;
      this.host.send(to, { type: 'history', nsp: nsp.name, since, ...part, isLast, isOwn });
      // In between, this worker serves its clients.
      if (!isLast) setImmediate(next);
    };
    next();
  }

  /** Adds the broadcasts of a part. The caller keeps its sessions first. */
  learn(from: number, { streams, since, isLast, isOwn = from !== this.teacher, isAbsent }: HistoryMessage): void {
    const { log } = this.recovery;
    if (isAbsent) {
      this.absent.add(from);
      return this.gone(from);
    }
    for (const stream of streams) {
      log.learn(stream);
      for (const packet of stream.packets) this.recovery.deliver(stream.sender, packet);
    }
    if (!isLast) return;
    if (isOwn) this.telling.delete(from);
    else if (from === this.teacher) {
      log.since = Math.min(log.since, since);
      this.teacher = undefined;
    }
    this.check();
  }

  /** Nothing more comes from this worker. */
  gone(worker: number): void {
    this.telling.delete(worker);
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
