import type { BackplaneEvents, BackplaneTraffic } from './backplane.js';
import { Inbox } from './inbox.js';

/** Bytes that may wait for Redis: a Redis that has stopped must not fill this worker's memory. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024;

/**
 * Knows whether Redis is up, and counts the messages that could not be sent to it. Those are dropped: a queue of them
 * would fill the memory, and they would arrive late.
 */
export class ConnectionHealth implements BackplaneTraffic {
  isUp = false;
  unsent = 0;
  outages = 0;
  pendingBytes = 0;
  /** What arrives from Redis passes here. */
  readonly inbox: Inbox;
  /** Why the connection failed: its last error. */
  reason = '';
  private told: boolean | undefined;
  private unsentBefore = 0;
  private waiting: (() => void)[] = [];

  /** @param maxPendingBytes bytes that may wait for Redis */
  constructor(
    private readonly events: BackplaneEvents,
    private readonly maxPendingBytes = MAX_PENDING_BYTES,
  ) {
    this.inbox = new Inbox(events);
  }

  get malformed(): number {
    return this.inbox.malformed;
  }

  /** Notes whether Redis is up, and reports a change. */
  update(isUp: boolean): void {
    this.isUp = isUp;
    if (isUp) {
      for (const resolve of this.waiting) resolve();
      this.waiting = [];
    }
    // Connecting for the first time takes a moment, which is no outage.
    if (isUp === this.told || (!isUp && this.told === undefined && this.reason === '')) return;
    this.told = isUp;
    if (isUp) {
      this.events.onUp(this.unsent - this.unsentBefore);
      this.unsentBefore = this.unsent;
      this.reason = '';
    } else {
      this.outages++;
      this.events.onDown(this.reason || 'the connection was closed');
    }
  }

  whenUp(): Promise<void> {
    return this.isUp ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve));
  }

  /**
   * Sends a message, or counts it as unsent. Callers may ignore the promise, as the adapters do: its rejection does not
   * end the process.
   */
  send<T>(bytes: number, command: () => Promise<T>): Promise<T> {
    const sent = this.pendingBytes + bytes > this.maxPendingBytes ? refuse<T>() : command();
    this.pendingBytes += bytes;
    sent.then(
      () => {
        this.pendingBytes -= bytes;
      },
      () => {
        this.pendingBytes -= bytes;
        this.unsent++;
      },
    );
    return sent;
  }
}

function refuse<T>(): Promise<T> {
  return Promise.reject(new Error('too many bytes are waiting for Redis'));
}
