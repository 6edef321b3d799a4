import type { HttpExchange } from '../http/exchange.js';
import type { RequestParts } from '../http/request.js';
import type { Session } from './session.js';

/** A pending session as it moves to the worker that its WebSocket has reached. */
export interface MovingSession {
  id: string;
  /** The handshake's request. */
  parts: RequestParts;
}

/** A pending session that leaves this worker. */
export interface ReleasedSession {
  session: Session;
  moving: MovingSession;
  /** The requests that wait for the session, in the order in which they must follow it. */
  requests: HttpExchange[];
}

/** How many times the delay of its first POST a client may take to request its WebSocket. */
const WAIT_FACTOR = 3;
const MIN_WAIT_MS = 25;
const MAX_WAIT_MS = 1000;

/**
 * Sessions that started on polling while several workers share a port. The kernel gives a client's WebSocket to any
 * worker, and a session should be where its WebSocket is. The application therefore learns of such a session only when
 * its WebSocket has arrived, or does not arrive in time. Until then the session consists of a few values, and can move.
 *
 * Until then, its client's first POST waits unread. A client sends one POST at a time, so the application gets each one
 * in a turn of its own, as if it had known the session from the start. A client requests its WebSocket at about the time
 * of its first POST, which therefore hardly waits.
 */
export class PendingSessions {
  private readonly pending = new Map<string, PendingSession>();

  /** @param announce reports a session to the application */
  constructor(private readonly announce: (session: Session) => void) {}

  hold(session: Session): void {
    this.pending.set(session.id, new PendingSession(session, () => this.claim(session.id)));
  }

  /**
   * Holds a session that has moved here, until middleware has run for it.
   * @returns reports the session to the application
   */
  holdMoved(session: Session): () => void {
    const held = new PendingSession(session, undefined);
    this.pending.set(session.id, held);
    return () => {
      if (this.pending.get(session.id) === held) this.announceHeld(held);
    };
  }

  /** The session stays here. The application learns of it, and gets what the client has sent so far. */
  claim(id: string): void {
    const held = this.pending.get(id);
    if (held && !held.hasMoved) this.announceHeld(held);
  }

  private announceHeld(held: PendingSession): void {
    const { session } = held;
    this.forget(session.id);
    if (session.readyState !== 'open') return;
    const { polling } = session;
    // The first reply would use up the poll, and later ones would have to wait for the next poll.
    const poll = polling?.takePoll();
    this.announce(session);
    if (poll) polling?.onRequest(poll);
    polling?.handleHeldPost();
  }

  /** Releases the session to another worker; undefined if it cannot move. */
  release(id: string): ReleasedSession | undefined {
    const held = this.pending.get(id);
    if (!held || held.hasMoved) return undefined;
    this.forget(id);
    const { session } = held;
    const requests = [session.polling?.takePoll(), session.polling?.takePost()].filter(
      (request) => request !== undefined,
    );
    return { session, moving: { id, parts: session.request.toParts() }, requests };
  }

  /** The session has ended. */
  forget(id: string): void {
    this.pending.get(id)?.end();
    this.pending.delete(id);
  }
}

class PendingSession {
  private readonly heldSince = performance.now();
  private timer: NodeJS.Timeout | undefined;

  /** @param claim called when the WebSocket does not arrive in time; undefined if the session has moved already */
  constructor(
    readonly session: Session,
    private readonly claim: (() => void) | undefined,
  ) {
    session.polling?.holdPosts(() => this.onPost());
  }

  /** Whether the session has moved here, and so cannot move again. */
  get hasMoved(): boolean {
    return this.claim === undefined;
  }

  private onPost(): void {
    if (!this.claim) return;
    // The first POST took about one round trip. The WebSocket takes a few, some of which have passed.
    const wait = (performance.now() - this.heldSince) * WAIT_FACTOR;
    this.timer ??= setTimeout(this.claim, Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, wait)));
  }

  end(): void {
    clearTimeout(this.timer);
  }
}
