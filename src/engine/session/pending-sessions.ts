import { clearImmediate, clearTimeout, performance, setImmediate, setTimeout } from '../../base/clock.js';
import { type Additions, additionsOf } from '../http/additions.js';
import type { HttpExchange } from '../http/exchange.js';
import type { RequestParts } from '../http/request.js';
import type { Session } from './session.js';

/** A pending session as it moves to the worker that its WebSocket has reached. */
export interface MovingSession {
  id: string;
  /** The handshake's request. */
  parts: RequestParts;
  /** What the application has put on it. */
  additions: Additions;
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
/** A timer that is later than this, in ms, means that this worker is busy. */
const BUSY_MS = 5;
const MAX_WAIT_WHILE_BUSY_MS = 5000;

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
  /** Sessions that stay here because their WebSocket did not arrive in time. It may still arrive. */
  private readonly overdue = new Map<string, PendingSession>();
  private readonly delays = new UpgradeDelays();

  /** @param announce reports a session to the application */
  constructor(private readonly announce: (session: Session) => void) {}

  has(id: string): boolean {
    return this.pending.has(id);
  }

  hold(session: Session): void {
    this.pending.set(session.id, new PendingSession(session, this.delays, (held) => this.giveUp(held)));
  }

  private giveUp(held: PendingSession): void {
    this.overdue.set(held.session.id, held);
    this.announceHeld(held);
  }

  /**
   * Holds a session that has moved here, until middleware has run for it.
   * @returns reports the session to the application
   */
  holdMoved(session: Session): () => void {
    const held = new PendingSession(session, this.delays, undefined);
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

  /** The WebSocket of the session has arrived at this worker, possibly through another one, and the session stays here. */
  upgrade(id: string): void {
    (this.pending.get(id) ?? this.overdue.get(id))?.onWebSocket();
    this.overdue.delete(id);
    this.claim(id);
  }

  private announceHeld(held: PendingSession): void {
    const { session } = held;
    this.end(session.id);
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
    const { session } = held;
    const additions = additionsOf(session.request);
    if (!additions) return undefined;
    held.onWebSocket();
    this.end(id);
    const requests = [session.polling?.takePoll(), session.polling?.takePost()].filter(
      (request) => request !== undefined,
    );
    return { session, moving: { id, parts: session.request.toParts(), additions }, requests };
  }

  /** The session has ended. */
  forget(id: string): void {
    this.end(id);
    this.overdue.delete(id);
  }

  private end(id: string): void {
    this.pending.get(id)?.end();
    this.pending.delete(id);
  }
}

class PendingSession {
  private readonly heldSince = performance.now();
  private postedAt: number | undefined;
  /** How long the session waits for its WebSocket from its first POST on if no worker is busy, in ms. */
  private wait = 0;
  private timerDue = 0;
  private timer: NodeJS.Timeout | undefined;
  private immediate: NodeJS.Immediate | undefined;

  /** @param giveUp called when the WebSocket does not arrive in time; undefined if the session has moved already */
  constructor(
    readonly session: Session,
    private readonly delays: UpgradeDelays,
    private readonly giveUp: ((held: PendingSession) => void) | undefined,
  ) {
    session.polling?.holdPosts(() => this.onPost());
  }

  /** Whether the session has moved here, and so cannot move again. */
  get hasMoved(): boolean {
    return this.giveUp === undefined;
  }

  private onPost(): void {
    if (this.hasMoved || this.postedAt !== undefined) return;
    this.postedAt = performance.now();
    // The first POST took about one round trip. The WebSocket takes a few, some of which have passed.
    this.wait = Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, (this.postedAt - this.heldSince) * WAIT_FACTOR));
    this.startTimer(Math.min(MAX_WAIT_MS, this.wait + this.delays.expected(this.postedAt)));
  }

  private startTimer(ms: number): void {
    this.timerDue = performance.now() + ms;
    this.timer = setTimeout(this.onTimer, ms);
  }

  /** Node.js runs timers before it reads what has arrived. A busy worker must not take its own delay for the client's. */
  private readonly onTimer = (): void => {
    const now = performance.now();
    const late = now - this.timerDue;
    const left = this.postedAt! + MAX_WAIT_WHILE_BUSY_MS - now;
    if (late > BUSY_MS && left > 0) this.startTimer(Math.min(late, left));
    else this.immediate = setImmediate(() => this.giveUp?.(this));
  };

  onWebSocket(): void {
    if (this.postedAt === undefined) return;
    const now = performance.now();
    this.delays.note(now - this.postedAt - this.wait, now);
  }

  end(): void {
    clearTimeout(this.timer);
    clearImmediate(this.immediate);
  }
}

/** Delays of WebSockets beyond the time that sessions wait for them, in ms. They occur when other workers are busy. */
class UpgradeDelays {
  private longest = 0;
  private notedAt = 0;

  note(delay: number, now: number): void {
    const bounded = Math.min(delay, MAX_EXPECTED_MS / EXPECTED_FACTOR);
    if (bounded < this.recent(now)) return;
    this.longest = bounded;
    this.notedAt = now;
  }

  /** The delay to expect now. */
  expected(now: number): number {
    return this.recent(now) * EXPECTED_FACTOR;
  }

  private recent(now: number): number {
    return this.longest * 0.5 ** ((now - this.notedAt) / HALF_LIFE_MS);
  }
}

const EXPECTED_FACTOR = 1.5;
/** One client that is slow on purpose may delay clients without WebSockets by this time at most, in ms. */
const MAX_EXPECTED_MS = 300;
/** The time in which an old delay comes to count half, in ms. */
const HALF_LIFE_MS = 5000;
