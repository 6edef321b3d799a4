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
