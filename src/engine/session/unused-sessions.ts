import { type Clock, systemClock } from '../clock.js';
import { DeadlineEntry, DeadlineQueue } from '../deadlines.js';

/** How long a client may take for its first request after the handshake, in ms. */
const MAX_WAIT_MS = 10_000;
const SWEEP_INTERVAL_MS = 1000;
/** The maximum number of unused sessions. Beyond it, the oldest ones are closed. */
export const MAX_UNUSED = 20_000;

/** A session whose client has made no request since its handshake. */
interface Unused {
  readonly id: string;
  onUnused(): void;
}

/**
 * Sessions on polling whose client has made no request since its handshake. A handshake costs a client only one small
 * request, so the number of such sessions is bounded, and they live shorter than used ones.
 */
export class UnusedSessions {
  private readonly sessions = new Map<string, { session: Unused; since: number }>();
  private timer: unknown;

  constructor(private readonly clock: Clock) {}

  get size(): number {
    return this.sessions.size;
  }

  add(session: Unused): void {
    this.sessions.set(session.id, { session, since: this.clock.now() });
    if (this.sessions.size > MAX_UNUSED) this.end(this.sessions.values().next().value!.session);
    this.timer ??= this.clock.setTimeout(this.sweep, SWEEP_INTERVAL_MS);
  }

  /** The client has made a request, or the session has ended. */
  remove(id: string): void {
    if (this.sessions.size > 0) this.sessions.delete(id);
  }

  close(): void {
    this.sessions.clear();
    this.clock.clearTimeout(this.timer);
  }

  private end(session: Unused): void {
    this.sessions.delete(session.id);
    session.onUnused();
  }

  private readonly sweep = (): void => {
    this.timer = undefined;
    const horizon = this.clock.now() - MAX_WAIT_MS;
    for (const { session, since } of this.sessions.values()) {
      if (since > horizon) break;
      this.end(session);
    }
    if (this.sessions.size > 0) this.timer = this.clock.setTimeout(this.sweep, SWEEP_INTERVAL_MS);
  };
}

/** How long a poll may still be on its way to this worker, in ms. */
const MAX_LATE_MS = 10_000;

/**
 * Polls that a POST has overtaken. A client on polling ends its session with a close packet in a POST, and a noop ends
 * its waiting poll. With several workers, the two requests may take different ways, so the POST can arrive first. The
 * poll then finds no session, but must be answered as if it had arrived before.
 */
export class LatePolls {
  private readonly expected = new Map<string, LatePoll>();
  private readonly queue: DeadlineQueue<LatePoll>;

  constructor(clock: Clock = systemClock) {
    this.queue = new DeadlineQueue(MAX_LATE_MS, ({ sid }) => this.expected.delete(sid), clock);
  }

  /** The client has ended this session, and none of its polls was waiting. */
  expect(sid: string): void {
    const poll = new LatePoll(sid);
    this.expected.set(sid, poll);
    this.queue.add(poll);
  }

  /** Whether a poll for this session is late; true only once. */
  take(sid: string): boolean {
    const poll = this.expected.get(sid);
    if (!poll) return false;
    this.queue.remove(poll);
    return this.expected.delete(sid);
  }

  close(): void {
    this.queue.close();
    this.expected.clear();
  }
}

class LatePoll extends DeadlineEntry<LatePoll> {
  constructor(readonly sid: string) {
    super();
  }
}
