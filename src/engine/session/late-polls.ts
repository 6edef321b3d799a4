import { type Clock, systemClock } from '../clock.js';
import { DeadlineEntry, DeadlineQueue } from '../deadlines.js';

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
