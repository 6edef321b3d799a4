import type { BackplaneEvents, BackplaneTraffic } from './backplane.js';

/** So many bytes may be on their way to Redis: a Redis that has stopped must not fill this worker's memory. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024;

/**
 * Whether Redis is there, and what could not be sent to it. What cannot be sent is given up and counted: held back, it
 * would fill the memory and arrive late.
 */
export class ConnectionHealth implements BackplaneTraffic {
  isUp = false;
  unsent = 0;
  outages = 0;
  pendingBytes = 0;
  /** Why the connection was lost or could not be made: its last error. */
  reason = '';
  private told: boolean | undefined;
  private unsentBefore = 0;
  private waiting: (() => void)[] = [];

  /** @param maxPendingBytes how many bytes may be on their way */
  constructor(
    private readonly events: BackplaneEvents,
    private readonly maxPendingBytes = MAX_PENDING_BYTES,
  ) {}

  /** Notes whether Redis is there, and tells if that is news. */
  update(isUp: boolean): void {
    this.isUp = isUp;
    if (isUp) {
      for (const resolve of this.waiting) resolve();
      this.waiting = [];
    }
    // That the first connection takes a moment is no news.
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
   * Sends something, or counts it where that cannot be. Nobody has to wait for the promise: the adapters do not, and
   * its failure must not end the process.
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
  return Promise.reject(new Error('too much is on its way to Redis already'));
}
