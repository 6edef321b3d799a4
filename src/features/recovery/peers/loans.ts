import type { Expiries } from '../kept/expiries.js';
import type { Removals } from '../kept/memory.js';
import type { PacketLog } from '../kept/packet-log.js';
import type { Sessions } from '../kept/sessions.js';
import type { KeptPacket, Stream, StreamState } from '../kept/stream.js';
import type { LiveSessions } from '../live-sessions.js';
import { encodeMessage, type LiveState, type LoanQuestion, type SessionState } from '../messages.js';
import type { RecoveryHost } from '../namespace-recovery.js';
import type { ForeignMessages } from '../returns/foreign.js';
import { sessionState } from './replicas.js';

/** The parts of a namespace that messages of other workers change. */
export interface Owner {
  readonly nsp: { readonly name: string };
  readonly log: PacketLog;
  /** How long packets are kept, in ms. */
  readonly retentionMs: number;
  readonly sessions: Sessions;
  readonly expiries: Pick<Expiries, 'forget' | 'endWhere' | 'failed'>;
  readonly removals: Pick<Removals, 'covers'>;
  readonly live: LiveSessions;
  readonly foreign: ForeignMessages;
  /** Delivers a broadcast that this worker should have received, but only another one has. */
  deliver(sender: string, packet: KeptPacket): void;
  /** Keeps the session of a worker, which is disconnected, and tells the other workers. */
  keepSession(state: LiveState, worker: string, direct: Stream): void;
}

/** The other workers of this machine, as far as copies of sessions are concerned. */
interface Machine {
  /** The id of this worker. */
  readonly id: number;
  /** The ids of the other workers. */
  readonly members: readonly number[];
}

/**
 * Chooses the worker that keeps copies of this worker's sessions in one namespace: the next one by id that has the
 * namespace. It stays the buddy until it is gone.
 */
export class Buddies {
  private chosen: number | undefined;
  /** Workers that are known to have the namespace. The others drop what they are sent. */
  private readonly present = new Set<number>();
  /** Workers that soon keep nothing any more. */
  private readonly leaving = new Set<number>();

  constructor(private readonly machine: Machine) {}

  get current(): number | undefined {
    this.chosen ??= this.next();
    return this.chosen;
  }

  private next(): number | undefined {
    const { id, members } = this.machine;
    const others = members.filter((other) => !this.leaving.has(other)).sort((a, b) => a - b);
    const present = others.filter((other) => this.present.has(other));
    const ring = present.length > 0 ? present : others;
    return ring.find((other) => other > id) ?? ring[0];
  }

  /** A worker has created the namespace, or has had it before this one. */
  has(worker: number): void {
    this.present.add(worker);
    // It may have closed the namespace, and opened it again.
    this.leaving.delete(worker);
    if (this.chosen !== undefined && !this.present.has(this.chosen)) this.chosen = undefined;
  }

  leaves(worker: number): void {
    this.leaving.add(worker);
    this.present.delete(worker);
    if (this.chosen === worker) this.chosen = undefined;
  }

  gone(worker: number): void {
    this.leaves(worker);
    this.leaving.delete(worker);
  }
}

/** What a worker answers if another one asks how far it is. */
export interface Head {
  readonly worker: string;
  /** It knows all broadcasts since then, in ms since 1970. */
  readonly since: number;
  /** The number and the time of its own last broadcast. */
  readonly last: number;
  readonly lastAt: number;
}

/** Redis and the links between machines take messages of this size well, in bytes. */
const PART_BYTES = 256 * 1024;
const PART_SESSIONS = 100;
/** Loans at once. A machine starts with some workers, each of which takes one. */
const MAX_LOANS = 64;
/** A loan whose next part is not requested in this time is over, in ms. */
const MAX_PAUSE_MS = 10_000;
const MAX_HEADS = 4096;

type Part = { streams: StreamState[]; sessions: SessionState[] };

interface Loan {
  readonly parts: Iterator<Part>;
  /** This worker has not received yet what the loan must have. */
  isWaiting: boolean;
  timer?: NodeJS.Timeout;
}

/** Gives what this worker keeps to workers of machines that have just started, part by part. */
export class Loans {
  private readonly loans = new Map<string, Loan>();

  constructor(
    private readonly owner: Pick<Owner, 'nsp' | 'log' | 'sessions' | 'foreign'>,
    private readonly host: Pick<RecoveryHost, 'name' | 'caughtUp'>,
  ) {}

  /** @returns the answer, which malformed questions get, too */
  async answer(question: unknown): Promise<Head | string> {
    const { of, loan, heads = [] } = (question ?? {}) as Record<keyof LoanQuestion, unknown>;
    if (of === undefined) return this.head;
    if (of !== this.host.name || typeof loan !== 'string') return '';
    const known = this.loans.get(loan);
    if (known) return known.isWaiting ? '' : this.next(loan, known);
    if (!areHeads(heads) || this.loans.size >= MAX_LOANS) return '';
    const started: Loan = { parts: this.parts(), isWaiting: true };
    this.loans.set(loan, started);
    // Messages of emitters have no numbers.
    const hasAll =
      (await this.host.caughtUp()) &&
      (await this.owner.log.reached({ senders: new Map(heads), at: Date.now(), worker: '', direct: 0 }));
    // Closed meanwhile, or behind.
    if (!hasAll || !this.loans.delete(loan)) {
      this.loans.delete(loan);
      return '';
    }
    started.isWaiting = false;
    return this.next(loan, started);
  }

  private get head(): Head {
    const { log } = this.owner;
    // Before its first subscription, a worker knows nothing. JSON has no number for that time.
    return { worker: log.worker, since: Math.min(this.since, Number.MAX_SAFE_INTEGER), ...log.headOf(log.worker) };
  }

  /** Messages without a number are not part of a history. */
  private get since(): number {
    return Math.max(this.owner.log.since, this.owner.foreign.lastAt);
  }

  private next(name: string, loan: Loan): string {
    clearTimeout(loan.timer);
    const { value, done } = loan.parts.next();
    this.loans.delete(name);
    if (!done) {
      loan.timer = setTimeout(() => this.loans.delete(name), MAX_PAUSE_MS).unref();
      this.loans.set(name, loan);
    }
    const part: Part = done ? { streams: [], sessions: [] } : value;
    const { nsp } = this.owner;
    return encodeMessage({
      ...{ type: 'history', nsp: nsp.name, since: this.since, isLast: done === true },
      ...part,
    }).toString('base64');
  }

  private *parts(): Iterator<Part> {
    const { log, sessions } = this.owner;
    let part: Part = { streams: [], sessions: [] };
    let bytes = 0;
    for (const [stream, size] of log.parts(PART_BYTES)) {
      if (bytes > 0 && bytes + size > PART_BYTES) {
        yield part;
        part = { streams: [], sessions: [] };
        bytes = 0;
      }
      part.streams.push(stream);
      bytes += size;
    }
    for (const session of sessions.all()) {
      if (part.sessions.length === PART_SESSIONS) {
        yield part;
        part = { streams: [], sessions: [] };
      }
      part.sessions.push(sessionState(session));
    }
    yield part;
  }

  close(): void {
    for (const { timer } of this.loans.values()) clearTimeout(timer);
    this.loans.clear();
  }
}

function areHeads(value: unknown): value is [string, number][] {
  const isOne = (one: unknown) => Array.isArray(one) && typeof one[0] === 'string' && Number.isSafeInteger(one[1]);
  return Array.isArray(value) && value.length <= MAX_HEADS && value.every(isOne);
}

/** Reads the answers of other workers. Those that are malformed are left out. */
export function headsIn(answers: readonly unknown[]): Head[] {
  const isHead = (value: unknown): value is Head => {
    if (typeof value !== 'object' || value === null) return false;
    const { worker, since, last, lastAt } = value as Record<keyof Head, unknown>;
    return typeof worker === 'string' && [since, last, lastAt].every((one) => typeof one === 'number');
  };
  return answers.filter(isHead);
}
