import type { KeptSession } from './sessions.js';

/** The session of a client that can no longer be recovered. */
export interface ExpiredSession {
  /** The id that its socket had. */
  readonly id: string;
  /** Empty if a bound had dropped the session before. */
  readonly rooms: readonly string[];
  /** `socket.data`; undefined if a bound had dropped the session before. */
  readonly data: unknown;
}

export type ExpiryListener = (session: ExpiredSession) => void;

type Session = Omit<KeptSession, 'direct' | 'floors' | 'resumedFrom' | 'aliveAt'>;

interface Home {
  readonly durationMs: () => number;
  readonly maxSessions: number;
  /** How long this worker leaves a session to others after it has expired, in ms. */
  readonly delayOf: (session: Session) => number;
  /** Tells the other workers that the session is reported. */
  readonly tell: (session: Session) => void;
}

/** After this time, in ms, a session that other workers should have reported is forgotten. */
const MAX_LATE_MS = 120_000;

/**
 * Reports each session of which the client has not returned in time, once among all workers: the worker that reports it
 * tells the others. It remembers nothing while nothing listens.
 */
export class Expiries {
  private readonly listeners = new Set<ExpiryListener>();
  private readonly pending = new Map<string, { readonly session: Session; readonly due: number }>();

  constructor(private readonly home: Home) {}

  /** Returns a function that ends it. */
  listen(listener: ExpiryListener, known: Iterable<Session>): () => void {
    this.listeners.add(listener);
    for (const session of known) this.add(session);
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.pending.clear();
    };
  }

  /** A client is disconnected, and may return. */
  add({ pid, sid, rooms, data, worker, recoveries, disconnectedAt, address, connection }: Session): void {
    if (this.listeners.size === 0) return;
    const session = { pid, sid, rooms, data, worker, recoveries, disconnectedAt, address, connection };
    this.pending.delete(pid);
    this.pending.set(pid, { session, due: disconnectedAt + this.home.durationMs() });
    if (this.pending.size > this.home.maxSessions) this.pending.delete(this.pending.keys().next().value!);
  }

  /** A bound has dropped the session. Its rooms and data must not stay in memory. */
  shrink(pid: string): void {
    const known = this.pending.get(pid);
    if (known) this.pending.set(pid, { ...known, session: { ...known.session, rooms: [], data: undefined } });
  }

  /** The client returns, or another worker has reported the session. */
  forget(pid: string): void {
    this.pending.delete(pid);
  }

  /** Some sessions have been ended before their time. */
  endWhere(matches: (session: Session) => boolean): void {
    const due = Date.now() - 1;
    for (const [pid, { session }] of this.pending) if (matches(session)) this.pending.set(pid, { session, due });
  }

  /** The client has returned, and could not be recovered. */
  failed(session: Session): void {
    if (this.listeners.size > 0) this.report(session);
  }

  sweep(now = Date.now()): void {
    for (const [pid, { session, due }] of this.pending) {
      const late = now - due;
      if (late > MAX_LATE_MS) this.pending.delete(pid);
      else if (late > 0 && late > this.home.delayOf(session)) this.report(session);
    }
  }

  close(): void {
    this.listeners.clear();
    this.pending.clear();
  }

  private report(session: Session): void {
    this.pending.delete(session.pid);
    this.home.tell(session);
    const { sid: id, rooms, data } = session;
    for (const listener of this.listeners) listener({ id, rooms: rooms.filter((room) => room !== id), data });
  }
}
