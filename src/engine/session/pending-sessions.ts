import type { HttpExchange } from '../http/exchange.js';
import type { RequestParts } from '../http/request.js';
import type { PacketData, PacketType } from '../protocol/packet.js';
import type { Transport, TransportOwner } from '../transports/transport.js';
import type { Session } from './session.js';

/** A pending session as it moves to the worker that its WebSocket has reached. */
export interface MovingSession {
  id: string;
  /** The handshake's request. */
  parts: RequestParts;
  /** The messages that the client has sent so far. */
  early: PacketData[];
}

/** How many times the delay of its first message a client may take to request its WebSocket. */
const WAIT_FACTOR = 3;
const MIN_WAIT_MS = 25;
const MAX_WAIT_MS = 1000;

/**
 * Sessions that started on polling while several workers share a port. The kernel gives a client's WebSocket to any
 * worker, and a session should be where its WebSocket is. The application therefore learns of such a session only when
 * its WebSocket has arrived, or does not arrive in time. Until then the session consists of a few values, and can move.
 *
 * A client requests its WebSocket at about the time of its first message, so messages hardly wait.
 */
export class PendingSessions {
  private readonly pending = new Map<string, PendingSession>();

  /** @param announce reports a session to the application */
  constructor(private readonly announce: (session: Session) => void) {}

  hold(session: Session): void {
    this.pending.set(session.id, new PendingSession(session, [], () => this.claim(session.id)));
  }

  /**
   * Holds a session that has moved here, until middleware has run for it.
   * @param early the messages that its client has sent so far
   * @returns reports the session to the application
   */
  holdMoved(session: Session, early: PacketData[]): () => void {
    const held = new PendingSession(session, early, undefined);
    this.pending.set(session.id, held);
    return () => {
      if (this.pending.get(session.id) === held) this.announceHeld(held);
    };
  }

  /** The session stays here. The application learns of it, and gets the messages that the client has sent so far. */
  claim(id: string): void {
    const held = this.pending.get(id);
    if (held && !held.hasMoved) this.announceHeld(held);
  }

  private announceHeld(held: PendingSession): void {
    this.pending.delete(held.id);
    held.end();
    const { session, early } = held;
    const { polling } = session;
    session.transport.owner = session;
    if (session.readyState !== 'open') return;
    // The first reply would use up the poll, and later ones would have to wait for the next poll.
    const poll = polling?.takePoll();
    this.announce(session);
    for (const data of early) session.onPacket(session.transport, 'message', data);
    if (poll) polling?.onRequest(poll);
  }

  /** Releases the session to another worker. Returns its data and its waiting poll; undefined if it cannot move. */
  release(id: string): { session: Session; moving: MovingSession; poll: HttpExchange | undefined } | undefined {
    const held = this.pending.get(id);
    const polling = held?.session.polling;
    if (!held || held.hasMoved || !polling || polling.isReceiving) return undefined;
    this.forget(id);
    const { session, early } = held;
    return { session, moving: { id, parts: session.request.toParts(), early }, poll: polling.takePoll() };
  }

  /** The session has ended. */
  forget(id: string): void {
    this.pending.get(id)?.end();
    this.pending.delete(id);
  }
}

/** Stands in for the session as its transport's owner. */
class PendingSession implements TransportOwner {
  private readonly heldSince = performance.now();
  private timer: NodeJS.Timeout | undefined;

  /** @param claim called when the WebSocket does not arrive in time; undefined if the session has moved already */
  constructor(
    readonly session: Session,
    readonly early: PacketData[],
    private readonly claim: (() => void) | undefined,
  ) {
    session.transport.owner = this;
  }

  /** Whether the session has moved here, and so cannot move again. */
  get hasMoved(): boolean {
    return this.claim === undefined;
  }

  get id(): string {
    return this.session.id;
  }

  onPacket(transport: Transport, type: PacketType, data: PacketData | undefined): boolean {
    if (type !== 'message') return this.session.onPacket(transport, type, data);
    this.early.push(data ?? '');
    if (!this.claim) return true;
    // The first message took about one round trip. The WebSocket takes a few, some of which have passed.
    const wait = (performance.now() - this.heldSince) * WAIT_FACTOR;
    this.timer ??= setTimeout(this.claim, Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, wait)));
    return true;
  }

  onReady(): void {
    this.session.onReady();
  }

  onProgress(): void {
    this.session.onProgress();
  }

  onOverflow(): void {
    this.session.onOverflow();
  }

  onFlood(): void {
    this.session.onFlood();
  }

  onDrain(transport: Transport): void {
    this.session.onDrain(transport);
  }

  onError(transport: Transport, message: string, description?: unknown): void {
    this.session.onError(transport, message, description);
  }

  onClose(transport: Transport, description?: unknown): void {
    this.session.onClose(transport, description);
  }

  end(): void {
    clearTimeout(this.timer);
  }
}
