import type { HttpExchange } from '../http/exchange.js';
import type { RequestParts } from '../http/request.js';
import type { PacketData, PacketType } from '../protocol/packet.js';
import type { PollingTransport } from '../transports/polling.js';
import type { Transport, TransportOwner } from '../transports/transport.js';
import type { Session } from './session.js';

/** A session that no application knows of yet, as it moves to the worker that its WebSocket came to. */
export interface MovingSession {
  id: string;
  /** The handshake's request. */
  parts: RequestParts;
  /** What the client has sent so far. */
  early: PacketData[];
}

/** How much longer than for its first message a client may take for the request for its WebSocket. */
const WAIT_FACTOR = 3;
const MIN_WAIT_MS = 25;
const MAX_WAIT_MS = 1000;

/**
 * Sessions that started on polling where several workers share a port. The kernel gives a client's WebSocket to any
 * worker, and a session is best off where its WebSocket is. Therefore the application is told of such a session only
 * when the WebSocket is there, or does not come: until then it consists of a few values, and can move.
 *
 * A client asks for its WebSocket at about the same time as it sends its first message, so that hardly anything waits.
 */
export class PendingSessions {
  private readonly pending = new Map<string, PendingSession>();

  /** @param announce tells the application of a session */
  constructor(private readonly announce: (session: Session) => void) {}

  hold(session: Session): void {
    this.pending.set(session.id, new PendingSession(session, () => this.claim(session.id)));
  }

  /** The session stays here: the application is told, and gets what the client has sent so far. */
  claim(id: string): void {
    const held = this.pending.get(id);
    if (!held) return;
    this.pending.delete(id);
    held.end();
    const { session, early } = held;
    const { polling } = session;
    session.transport.owner = session;
    if (session.readyState !== 'open') return;
    // The poll would be gone with the first answer, and the others wait for the next one.
    const poll = polling?.takePoll();
    this.announce(session);
    for (const data of early) session.onPacket(session.transport, 'message', data);
    if (poll) polling?.onRequest(poll);
  }

  /** The session moves away. Returns undefined where it cannot, else the poll that waits and what has to move. */
  release(id: string): { session: Session; moving: MovingSession; poll: HttpExchange | undefined } | undefined {
    const held = this.pending.get(id);
    const polling = held?.session.polling;
    if (!held || !polling || polling.isReceiving) return undefined;
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

/** Takes the place of the session as its transport's owner. */
class PendingSession implements TransportOwner {
  readonly early: PacketData[] = [];
  private readonly heldSince = performance.now();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly session: Session,
    private readonly claim: () => void,
  ) {
    session.transport.owner = this;
  }

  get id(): string {
    return this.session.id;
  }

  onPacket(transport: Transport, type: PacketType, data: PacketData | undefined): boolean {
    if (type !== 'message') return this.session.onPacket(transport, type, data);
    this.early.push(data ?? '');
    // The first message took about one round trip; the WebSocket takes a few, of which some have passed.
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

  onError(transport: PollingTransport, message: string, description?: unknown): void {
    this.session.onError(transport, message, description);
  }

  onClose(transport: Transport, description?: unknown): void {
    this.session.onClose(transport, description);
  }

  end(): void {
    clearTimeout(this.timer);
  }
}
