import type { Stream } from './stream.js';

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
  /** Packets that the worker sent to this socket alone. */
  readonly direct: Stream;
  /** Approximate memory, in bytes. */
  readonly bytes: number;
}

/** Disconnected sessions of one namespace. The oldest ones are dropped first. */
export class Sessions {
  private readonly sessions = new Map<string, KeptSession>();
  private readonly waiting = new Map<string, Set<() => void>>();
  /** Approximate memory of all sessions. */
  bytes = 0;
  /** Sessions dropped since the start to stay within the bounds. */
  dropped = 0;

  constructor(
    private readonly bounds: { readonly maxSessions: number; readonly maxBytes: number },
    private readonly durationMs: () => number,
  ) {}

  get size(): number {
    return this.sessions.size;
  }

  put(session: KeptSession): void {
    this.take(session.pid)?.direct.release();
    this.sessions.set(session.pid, session);
    this.bytes += session.bytes;
    const { maxSessions, maxBytes } = this.bounds;
    for (const { pid } of this.sessions.values()) {
      if (this.sessions.size <= maxSessions && this.bytes <= maxBytes) break;
      this.drop(pid);
      this.dropped++;
    }
    for (const tell of this.waiting.get(session.pid) ?? []) tell();
  }

  /** Removes a session and returns it, unless it has expired. */
  take(pid: string): KeptSession | undefined {
    const session = this.sessions.get(pid);
    if (!session) return undefined;
    this.sessions.delete(pid);
    this.bytes -= session.bytes;
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
    for (const { pid, disconnectedAt } of this.sessions.values()) if (disconnectedAt < oldest) this.drop(pid);
  }

  close(): void {
    for (const { direct } of this.sessions.values()) direct.release();
    this.sessions.clear();
  }
}
