import { machineTime } from '../../../base/clock.js';
import type { SessionState } from '../messages.js';
import { memoryOfData, memoryOfText } from './memory.js';
import type { Stream } from './stream.js';

/** What drops a session of a namespace that has become too many. */
type Drop = (session: KeptSession) => void;

/** Bounds the memory of the disconnected sessions of all namespaces of a worker: the oldest are dropped first. */
export class SessionMemory {
  /** Approximate memory of all sessions. */
  bytes = 0;
  /** The oldest first. */
  private readonly sessions = new Map<KeptSession, { readonly bytes: number; readonly drop: Drop }>();

  constructor(public maxBytes: number) {}

  /** @param drop is called when the session has to go, and calls `forget()` */
  add(session: KeptSession, bytes: number, drop: Drop): void {
    this.sessions.set(session, { bytes, drop });
    this.bytes += bytes;
    for (const [oldest, entry] of this.sessions) {
      if (this.bytes <= this.maxBytes) break;
      entry.drop(oldest);
    }
  }

  forget(session: KeptSession): void {
    this.bytes -= this.sessions.get(session)?.bytes ?? 0;
    this.sessions.delete(session);
  }
}

/**
 * In place of the worker of a session that is in too many rooms. No offset is of it, so its client gets a new session.
 */
export const NO_WORKER = '-';

/** A session whose client is away and may return. */
export interface KeptSession extends SessionState {
  readonly disconnectedAt: number;
  /** Packets that the worker sent to this socket alone. */
  readonly direct: Stream;
}

/** Approximate memory of a kept session besides its contents, with an empty stream, in bytes. */
const SESSION_BYTES = 700;

/** The array of rooms, or of floors, and an entry in it. */
const ARRAY_BYTES = 56;
const FLOOR_BYTES = 150;

function bytesOf({
  pid,
  sid,
  connection,
  address,
  resumedFrom,
  named,
  handedOver,
  alsoReceived,
  rooms,
  data,
  floors = [],
}: KeptSession): number {
  let bytes = SESSION_BYTES + memoryOfData(data) + ARRAY_BYTES + 8 * rooms.length;
  const texts = [pid, sid, connection, address, resumedFrom, named, handedOver, alsoReceived, ...rooms];
  for (const text of texts) bytes += memoryOfText(text);
  for (const { numbers, rooms: joined = [] } of floors) {
    bytes += FLOOR_BYTES + ARRAY_BYTES + 8 * joined.length + memoryOfText(numbers);
    for (const room of joined) bytes += memoryOfText(room);
  }
  return bytes;
}

/** Disconnected sessions of one namespace. The oldest ones are dropped first. */
export class Sessions {
  private readonly sessions = new Map<string, KeptSession>();
  private readonly waiting = new Map<string, Set<() => void>>();
  /** Sessions dropped since the start to stay within the bounds. */
  dropped = 0;

  constructor(
    private readonly memory: SessionMemory,
    private readonly bounds: () => { readonly maxSessions: number; readonly durationMs: number },
    /** Told of each session that cannot be recovered any more, because its time is over or a bound has dropped it. */
    private readonly expired: (session: KeptSession) => void,
  ) {}

  get size(): number {
    return this.sessions.size;
  }

  put(session: KeptSession): void {
    this.drop(session.pid);
    this.sessions.set(session.pid, session);
    this.memory.add(session, bytesOf(session), this.dropOld);
    const [oldest] = this.sessions.values();
    if (this.sessions.size > this.bounds().maxSessions) this.dropOld(oldest!);
    this.changed(session.pid);
  }

  private readonly dropOld = (session: KeptSession): void => {
    this.dropped++;
    this.end(session);
  };

  /** Removes a session and returns it, unless it has expired. */
  take(pid: string): KeptSession | undefined {
    const session = this.sessions.get(pid);
    if (!session) return undefined;
    if (session.disconnectedAt + this.bounds().durationMs < machineTime()) return void this.end(session);
    this.remove(session);
    return session;
  }

  private remove(session: KeptSession): void {
    this.sessions.delete(session.pid);
    this.memory.forget(session);
  }

  private end(session: KeptSession): void {
    this.drop(session.pid);
    this.expired(session);
  }

  get(pid: string): KeptSession | undefined {
    return this.sessions.get(pid);
  }

  /** The client of a session is connected again, or the session has ended. */
  drop(pid: string): void {
    const session = this.sessions.get(pid);
    if (!session) return;
    this.remove(session);
    session.direct.release();
  }

  /** Removes the sessions for which this is true, and returns their sockets' ids. */
  removeWhere(matches: (session: KeptSession) => boolean): string[] {
    const found = [...this.all()].filter(matches);
    for (const session of found) this.end(session);
    return found.map(({ sid }) => sid);
  }

  /** A worker serves the session from now on, or it is put. */
  changed(pid: string): void {
    for (const tell of this.waiting.get(pid) ?? []) tell();
  }

  /** Calls back with each change of a session. Returns a function that ends that. */
  onChange(pid: string, tell: () => void): () => void {
    const listeners = this.waiting.get(pid) ?? new Set();
    listeners.add(tell);
    this.waiting.set(pid, listeners);
    return () => {
      listeners.delete(tell);
      if (listeners.size === 0) this.waiting.delete(pid);
    };
  }

  all(): Iterable<KeptSession> {
    return this.sessions.values();
  }

  sweep(): void {
    const oldest = machineTime() - this.bounds().durationMs;
    for (const session of this.all()) if (session.disconnectedAt < oldest) this.end(session);
  }

  close(): void {
    for (const pid of this.sessions.keys()) this.drop(pid);
  }
}
