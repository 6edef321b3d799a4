import { setImmediate } from '../../base/clock.js';
import type { NativeWebSocket } from '../http/exchange.js';
import type { EngineSettings } from '../options.js';

/** The owner of a client that may read too slowly. */
export interface Closable {
  onOverflow(): void;
}

/** Each packet that waits on polling takes memory besides its data, so there may be one for so many bytes of the limit. */
const BYTES_OF_PACKET = 64;
/** As many may wait in any case: more than a client is sent at once that returns. */
const MIN_PACKETS = 16_384;

/** Closes clients for which more than `maxBackpressure` bytes wait. */
export class SlowClients {
  /** How many bytes may wait for a client; 0 is no limit. */
  readonly limit: number;
  private readonly maxPackets: number;
  /** Clients that have lost a message, and are about to be closed. What comes later must not reach them. */
  private readonly overflowing = new Set<Closable>();
  /** Their WebSockets, if uWebSockets.js has dropped the message. */
  readonly muted = new Set<NativeWebSocket>();

  constructor({ maxBackpressure }: Pick<EngineSettings, 'maxBackpressure'>) {
    this.limit = maxBackpressure;
    this.maxPackets = Math.max(MIN_PACKETS, maxBackpressure / BYTES_OF_PACKET);
  }

  /** Whether more waits for a client on polling than may. */
  isTooMuch(bytes: number, packets: number): boolean {
    return this.limit > 0 && (bytes > this.limit || packets > this.maxPackets);
  }

  /** Call this when uWebSockets.js reports a message that it has dropped. */
  onDropped(ws: NativeWebSocket, receiver: Closable): void {
    this.muted.add(ws);
    this.overflow(receiver);
  }

  /** Whether a client has lost a message, and is about to be closed. */
  isOverflowing(receiver: Closable): boolean {
    return this.overflowing.size > 0 && this.overflowing.has(receiver);
  }

  /** Call this when a message was not sent because too many bytes wait for the client. */
  overflow(receiver: Closable): void {
    // Closing is deferred because a broadcast may be in progress.
    if (this.overflowing.size === 0) setImmediate(this.closeOverflowing);
    this.overflowing.add(receiver);
  }

  private readonly closeOverflowing = (): void => {
    const webSockets = [...this.muted];
    try {
      for (const receiver of [...this.overflowing]) {
        this.overflowing.delete(receiver);
        receiver.onOverflow();
      }
    } finally {
      for (const webSocket of webSockets) this.muted.delete(webSocket);
      if (this.overflowing.size > 0) setImmediate(this.closeOverflowing);
    }
  };
}
