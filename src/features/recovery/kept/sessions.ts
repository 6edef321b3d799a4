import { memoryOf, type Removals, type RoomsFloor } from './memory.js';
import type { Stream } from './stream.js';

/** What drops a session of a namespace that has become too many. */
type Drop<Session> = (session: Session) => void;

/** Bounds the memory of the disconnected sessions of all namespaces of a worker: the oldest are dropped first. */
export class SessionMemory<Session = object> {
  /** Approximate memory of all sessions. */
  bytes = 0;
  /** The oldest first. */
  private readonly sessions = new Map<Session, { readonly bytes: number; readonly drop: Drop<Session> }>();

  constructor(private readonly maxBytes: number) {}

  /** @param drop is called when the session has to go, and calls `forget()` */
  add(session: Session, bytes: number, drop: Drop<Session>): void {
    this.sessions.set(session, { bytes, drop });
    this.bytes += bytes;
    for (const [oldest, entry] of this.sessions) {
      if (this.bytes <= this.maxBytes) break;
      entry.drop(oldest);
    }
  }

  forget(session: Session): void {
    this.bytes -= this.sessions.get(session)?.bytes ?? 0;
    this.sessions.delete(session);
  }
}

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

/**
 * In place of the worker of a session that is in too many rooms. No offset is of it, so workers of any version give its
 * client a new session.
 */
export const NO_WORKER = '-';

/** The state of a socket that is disconnected and may return. */
export interface KeptSession {
  readonly pid: string;
  readonly sid: string;
  readonly rooms: readonly string[];
  readonly data: unknown;
  /** The name of the worker that served it. */
  readonly worker: string;
  /** The offset with which the client was recovered on that worker. */
  readonly resumedFrom: string | undefined;
  /** How often a worker has begun to recover it; 0 if undefined. */
  readonly recoveries?: number | undefined;
  readonly disconnectedAt: number;
  /** The client has received everything that it was sent before this time. */
  readonly aliveAt: number;
  /** From which packets on its rooms are its own; undefined if a worker of an older version has served it. */
  readonly floors?: readonly RoomsFloor[] | undefined;
  /** What the client had received, beyond its offset, before its last worker had: numbers as in an offset. */
  readonly has?: string | undefined;
  /** The address of the client, and the id of its connection, by which the operator may name it. */
  readonly address?: string | undefined;
  readonly connection?: string | undefined;
  /** Packets that the worker sent to this socket alone. */
  readonly direct: Stream;
}

/** What is told of kept sessions. */
interface SessionWatch {
  add(session: KeptSession): void;
  /** A bound has dropped the session. */
  shrink(pid: string): void;
}

/** Approximate memory of a kept session besides its contents, with an empty stream, in bytes. */
const SESSION_BYTES = 700;

function bytesOf({ pid, sid, connection, address, resumedFrom, has, rooms, data, floors }: KeptSession): number {
  return SESSION_BYTES + memoryOf([[pid, sid, connection, address, resumedFrom, has], rooms, data, floors]);
}

/** Disconnected sessions of one namespace. The oldest ones are dropped first. */
export class Sessions {
  private readonly sessions = new Map<string, KeptSession>();
  private readonly waiting = new Map<string, Set<() => void>>();
  /** Sessions dropped since the start to stay within the bounds. */
  dropped = 0;

  constructor(
    private readonly memory: SessionMemory<KeptSession>,
    private readonly maxSessions: number,
    private readonly durationMs: () => number,
    private readonly removals: Pick<Removals, 'covers'>,
    private readonly expiries: SessionWatch,
  ) {}

  get size(): number {
    return this.sessions.size;
  }

  put(session: KeptSession): void {
    this.take(session.pid)?.direct.release();
    if (this.removals.covers(session)) return session.direct.release();
    this.sessions.set(session.pid, session);
    this.expiries.add(session);
    this.memory.add(session, bytesOf(session), this.dropOld);
    const [oldest] = this.sessions.values();
    if (this.sessions.size > this.maxSessions) this.dropOld(oldest!);
    for (const tell of this.waiting.get(session.pid) ?? []) tell();
  }

  private readonly dropOld = ({ pid }: KeptSession): void => {
    this.drop(pid);
    this.dropped++;
    this.expiries.shrink(pid);
  };

  /** Removes a session and returns it, unless it has expired. */
  take(pid: string): KeptSession | undefined {
    const session = this.sessions.get(pid);
    if (!session) return undefined;
    this.sessions.delete(pid);
    this.memory.forget(session);
    if (session.disconnectedAt + this.durationMs() >= Date.now()) return session;
    session.direct.release();
    return undefined;
  }

  get(pid: string): KeptSession | undefined {
    return this.sessions.get(pid);
  }

  drop(pid: string): void {
    this.take(pid)?.direct.release();
  }

  /** Removes the sessions for which this is true, and returns their sockets' ids. */
  removeWhere(matches: (session: KeptSession) => boolean): string[] {
    const found = [...this.all()].filter(matches);
    for (const { pid } of found) this.drop(pid);
    return found.map(({ sid }) => sid);
  }

  /** Calls back when a session is put. Returns a function that ends that. */
  onPut(pid: string, tell: () => void): () => void {
    const listeners = this.waiting.get(pid) ?? new Set();
    listeners.add(tell);
    this.waiting.set(pid, listeners);
    return () => {
      listeners.delete(tell);
      if (listeners.size === 0) this.waiting.delete(pid);
    };
  }

  *all(): Iterable<KeptSession> {
    yield* this.sessions.values();
  }

  sweep(): void {
    const oldest = Date.now() - this.durationMs();
    for (const { pid, disconnectedAt } of this.all()) if (disconnectedAt < oldest) this.drop(pid);
  }

  close(): void {
    for (const pid of this.sessions.keys()) this.drop(pid);
  }
}
