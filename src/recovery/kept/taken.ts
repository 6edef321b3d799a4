import type { KeptSession } from './sessions.js';

/** What identifies a state of a session among those before and after. */
type Version = Pick<KeptSession, 'pid' | 'recoveries'>;

interface Taken {
  readonly recoveries: number;
  readonly at: number;
  /** The worker that recovers the session, until it has told the result, if this one is its buddy. */
  by: number | undefined;
  /** What the buddy keeps until then. */
  session: KeptSession | undefined;
}

/**
 * Sessions that a worker recovers, or has recovered lately. What another worker had sent about such a session before may
 * arrive afterwards, because it takes another way. It must not replace what is newer.
 */
export class TakenSessions {
  private readonly taken = new Map<string, Taken>();

  constructor(private readonly bounds: { readonly maxSessions: number }) {}

  /** A worker recovers a session. Its buddy is told that it is, and then what all are told. */
  add({ pid, recoveries }: Version): void {
    const known = this.taken.get(pid);
    if (recoveries === undefined) {
      // A worker of an older version, which does not count. What it sends later would look outdated.
      if (known && known.recoveries > 0) this.forget(pid);
      return;
    }
    if (known && known.recoveries >= recoveries) return;
    this.put(pid, { recoveries, at: Date.now(), by: undefined, session: undefined });
  }

  /**
   * The same for the buddy of that worker.
   * @param session what it knows of it, if that has arrived
   */
  addFor(by: number, { pid, recoveries = 0 }: Version, session: KeptSession | undefined): void {
    this.put(pid, { recoveries, at: Date.now(), by, session: session && { ...session, recoveries } });
  }

  /** Whether a session has been taken in a later state. */
  isOutdated({ pid, recoveries = 0 }: Version): boolean {
    const known = this.taken.get(pid);
    return known !== undefined && known.recoveries > recoveries;
  }

  /**
   * Takes an outdated session.
   * @param members the workers that are there
   * @returns the session as it would be kept, if the worker that was to recover it is gone without a result
   */
  receive(session: KeptSession, members: readonly number[]): KeptSession | undefined {
    const known = this.taken.get(session.pid)!;
    if (known.by === undefined || known.session) {
      session.direct.release();
      return undefined;
    }
    const current = { ...session, recoveries: known.recoveries };
    if (members.includes(known.by)) {
      known.session = current;
      return undefined;
    }
    known.by = undefined;
    return current;
  }

  /** Whether this worker, as a buddy, keeps the session. */
  has(pid: string): boolean {
    return this.taken.get(pid)?.session !== undefined;
  }

  /** The worker that recovered the session has told the result. */
  end(pid: string): void {
    const known = this.taken.get(pid);
    if (!known) return;
    known.session?.direct.release();
    known.session = undefined;
    known.by = undefined;
  }

  /** Removes the sessions that a worker was recovering, and returns them. */
  takeFrom(worker: number): KeptSession[] {
    const sessions: KeptSession[] = [];
    for (const one of this.taken.values()) {
      if (one.by !== worker || !one.session) continue;
      sessions.push(one.session);
      one.session = undefined;
      one.by = undefined;
    }
    return sessions;
  }

  /** Removes the sessions for which this is true, and returns their sockets' ids. */
  removeWhere(matches: (session: KeptSession) => boolean): string[] {
    const ids: string[] = [];
    for (const [pid, { session }] of this.taken) {
      if (!session || !matches(session)) continue;
      ids.push(session.sid);
      this.end(pid);
    }
    return ids;
  }

  /** Forgets what was taken before a time. A worker that gives a client a new session instead does not report that. */
  sweep(oldest: number): void {
    for (const [pid, { at }] of this.taken) if (at < oldest) this.forget(pid);
  }

  close(): void {
    for (const pid of this.taken.keys()) this.forget(pid);
  }

  private put(pid: string, taken: Taken): void {
    this.forget(pid);
    this.taken.set(pid, taken);
    const [oldest] = this.taken.keys();
    if (this.taken.size > this.bounds.maxSessions) this.forget(oldest!);
  }

  private forget(pid: string): void {
    this.end(pid);
    this.taken.delete(pid);
  }
}
