import type { RoomsFloor } from './floors.js';
import { memoryOf } from './memory.js';
import type { Removals } from './removals.js';
import type { SessionMemory } from './session-memory.js';
import type { Stream } from './stream.js';

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
