import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { own } from '../../base/owner.js';
import { MalformedMessage } from '../../errors.js';
import type { RecoveryHost } from '../host.js';
import { MAX_SKEW_MS } from '../kept/packet-log.js';
import { decodeMessage, type SessionState } from '../messages.js';
import { Lessons } from './lessons.js';
import { type Head, headsIn } from './loans.js';
import type { Owner } from './owner.js';

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
