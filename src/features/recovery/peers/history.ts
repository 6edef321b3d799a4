import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MalformedMessage } from '../../../base/errors.js';
import { own, owned } from '../../../base/owner.js';
import { MAX_SKEW_MS } from '../kept/packet-log.js';
import { decodeMessage, type RecoveryMessage, type SessionState } from '../messages.js';
import type { RecoveryHost } from '../namespace-recovery.js';
import { type Head, headsIn, type Owner } from './loans.js';
import { Lessons, sessionState } from './replicas.js';

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

/** The other workers may not have been found yet, or be behind. */
const MAX_ATTEMPTS = 5;
const PAUSE_MS = 250;
/** How long clients that return wait until the worker has heard that its history lacks nothing, in ms. */
const MAX_CHECK_MS = 1000;
/** How long clients that return wait for the history, in ms. */
const MAX_WAIT_MS = 5000;
/** More than the largest history has. */
const MAX_PARTS = 4096;

/**
 * How the first workers of a machine get what was sent before they started, from a worker of another machine.
 *
 * ```
 * NEW WORKER                                ALL OTHER WORKERS
 *   │ ── heads? ─────────────────────────────▶ │
 *   │ ◀──────────── since, own last number ─── │   what each sends later reaches the new worker, too
 *   │ ── history of the oldest? ─────────────▶ │   it waits until it has received these numbers
 *   │ ◀──────────────────────── parts of it ── │
 *   │ ── heads? ─────────────────────────────▶ │
 *   │ ◀──────────── since, own last number ─── │   is there a broadcast that neither of the two has received?
 * ```
 *
 * If one worker does not answer, the history is not taken for complete, and the new worker recovers as if it had none.
 */
export class MachineHistory {
  private isClosed = false;

  /** @param keep keeps the sessions of a part */
  constructor(
    private readonly owner: Pick<Owner, 'nsp' | 'log' | 'retentionMs' | 'deliver'>,
    private readonly host: Pick<RecoveryHost, 'askAll' | 'name' | 'members' | 'send'>,
    private readonly keep: (sessions: readonly SessionState[]) => void,
  ) {}

  /**
   * Resolves when this worker has the history, or when clients that return have waited long enough for it.
   * @param learnt resolves when the workers of this machine have given what they know, or have had the time to
   * @param subscribed resolves when this worker also receives what the others send
   */
  async borrowed(learnt: Promise<void>, subscribed: Promise<void>): Promise<void> {
    const end = new AbortController();
    const borrowed = subscribed.then(() => this.borrow());
    const caughtUp = borrowed.then(async (isChecked) => {
      if (!isChecked) await this.catchUp();
    });
    const isLate = borrowed.then(() => sleep(MAX_CHECK_MS, undefined, { ref: false }));
    own(
      'learning the history of other machines',
      Promise.race([caughtUp, isLate]).finally(() => end.abort()),
    );
    await learnt;
    await sleep(MAX_WAIT_MS, undefined, { signal: end.signal, ref: false }).catch(() => {});
  }

  /**
   * The workers of this machine may have started only just now. Then one of another machine knows more.
   * @returns whether it has given its history, which is checked then
   */
  async borrow(): Promise<boolean> {
    const { log, retentionMs } = this.owner;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (attempt > 0) await sleep(PAUSE_MS, undefined, { ref: false });
      if (this.isClosed || log.since <= Date.now() - retentionMs) return false;
      if (await this.attempt(Date.now() - retentionMs)) return true;
    }
    return false;
  }

  /**
   * The workers of this machine have given what they know. They may not have received yet what was sent just before this
   * worker received anything: they are asked for it again. A worker that does not answer has sent nothing, as far as can be
   * told.
   */
  async catchUp(): Promise<void> {
    const { nsp, log } = this.owner;
    for (let attempt = 0; attempt < MAX_ATTEMPTS && log.since < log.startedAt; attempt++) {
      if (attempt > 0) await sleep(PAUSE_MS, undefined, { ref: false });
      const { answers } = await this.host.askAll(nsp.name, {});
      const lacking = headsIn(answers).filter((head) => this.lacks(head, log.since));
      if (lacking.length === 0 || this.isClosed) return;
      for (const { worker: sender } of lacking) {
        const { last } = log.headOf(sender);
        for (const member of this.host.members) this.host.send(member, { type: 'tail', nsp: nsp.name, sender, last });
      }
    }
    if (log.since < log.startedAt) log.startAfter(Date.now());
  }

  /** Whether a worker has sent something since a time that this one has not received. */
  private lacks({ worker, last, lastAt }: Head, since: number): boolean {
    return lastAt + MAX_SKEW_MS >= since && this.owner.log.headOf(worker).last < last;
  }

  /** @param enough a worker that knows everything since then needs no more */
  private async attempt(enough: number): Promise<boolean> {
    const { log } = this.owner;
    const before = log.since;
    const heads = await this.heads();
    const lender = heads && lenderOf(heads, before, enough);
    const lentSince = lender && (await this.fetch(lender.worker, heads));
    if (lentSince === undefined) return false;
    const now = await this.heads();
    // After an outage meanwhile, the history of before is worth nothing.
    if (!now || this.isClosed || log.since !== before) return false;
    const since = Math.max(lender!.since, lentSince);
    if (now.some((head) => this.lacks(head, since))) return false;
    log.since = Math.min(before, since);
    return true;
  }

  /** How far all other workers are; undefined if one of them has not answered. */
  private async heads(): Promise<Head[] | undefined> {
    const { answers, isComplete } = await this.host.askAll(this.owner.nsp.name, {});
    const heads = headsIn(answers);
    return isComplete && heads.length === answers.length ? heads : undefined;
  }

  /** @returns since when the history of the worker is complete; undefined if it has not come to an end */
  private async fetch(of: string, heads: readonly Head[]): Promise<number | undefined> {
    const { nsp, log } = this.owner;
    const lessons = new Lessons(this.owner, log.startedAt, true);
    const last = heads.map((head) => [head.worker, head.last] as const);
    const loan = `${this.host.name}.${randomBytes(6).toString('base64url')}`;
    for (let part = 0; part < MAX_PARTS && !this.isClosed; part++) {
      const question = part === 0 ? { of, loan, heads: last } : { of, loan };
      const { answers } = await this.host.askAll(nsp.name, question);
      const message = historyIn(answers);
      if (!message || this.isClosed) return undefined;
      // What this worker has sent, it knows.
      for (const stream of message.streams) if (stream.sender !== log.worker) lessons.add(stream);
      this.keep(message.sessions);
      if (!message.isLast) continue;
      lessons.settle();
      return message.since;
    }
    return undefined;
  }

  close(): void {
    this.isClosed = true;
  }
}

/** Any worker that knows enough, so that those of a machine do not all ask the same one; or else the one that knows most. */
function lenderOf(heads: readonly Head[], since: number, enough: number): Head | undefined {
  const older = heads.filter((head) => head.since < since).sort((one, other) => one.since - other.since);
  const knowing = older.filter((head) => head.since < enough);
  return knowing.length > 0 ? knowing[Math.floor(Math.random() * knowing.length)] : older[0];
}

function historyIn(answers: readonly unknown[]) {
  const text = answers.find((answer) => typeof answer === 'string' && answer !== '') as string | undefined;
  if (text === undefined) return undefined;
  try {
    const message = decodeMessage(Buffer.from(text, 'base64'));
    return message.type === 'history' ? message : undefined;
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}
