import type { NativeWebSocket } from '../http/exchange.js';
import type { EngineSettings } from '../options.js';
import { DroppedDeliveries } from './dropped-deliveries.js';

/** The owner of a client that may read too slowly. */
export interface Closable {
  onOverflow(): void;
}

/** The owner of a client that is pinged. */
export interface Pinged {
  /** The number of bytes that wait for the client. */
  readonly bufferedAmount: number;
  sendPing(): void;
}

/** Applies `slowPolicy` to clients for which more than `maxBackpressure` bytes wait. */
export class SlowClients {
  /** How many bytes may wait for a client; 0 is no limit. */
  readonly limit: number;
  /** Counts dropped deliveries; undefined if `slowPolicy` closes slow clients instead. */
  readonly skipped: DroppedDeliveries | undefined;
  private readonly unpinged = new Set<Pinged>();
  /** Clients that have lost a message, and are about to be closed. What comes later must not reach them. */
  private readonly overflowing = new Set<Closable>();
  /** Their WebSockets, if uWebSockets.js has dropped the message. */
  readonly muted = new Set<NativeWebSocket>();

  constructor({ maxBackpressure, slowPolicy }: Pick<EngineSettings, 'maxBackpressure' | 'slowPolicy'>) {
    this.limit = maxBackpressure;
    this.skipped = maxBackpressure > 0 && slowPolicy === 'drop' ? new DroppedDeliveries() : undefined;
  }

  /** Call this when uWebSockets.js reports a message that it has dropped. */
  onDropped(ws: NativeWebSocket, message: ArrayBuffer | Buffer, receiver: Closable): void {
    if (this.skipped) return this.skipped.dropped(ws, message);
    this.muted.add(ws);
    this.overflow(receiver);
  }

  /** Whether a client has lost a message, and is about to be closed. */
  isOverflowing(receiver: Closable): boolean {
    return this.overflowing.size > 0 && this.overflowing.has(receiver);
  }

  /** Call this when a message was not sent because too many bytes wait for the client. */
  overflow(receiver: Closable): void {
    if (this.skipped) {
      this.skipped.count++;
      return;
    }
    // Closing is deferred because a broadcast may be in progress.
    if (this.overflowing.size === 0) setImmediate(this.closeOverflowing);
    this.overflowing.add(receiver);
  }

  /** Pings a client. If its ping would be dropped, waits until the client has read some of the waiting bytes. */
  ping(client: Pinged): void {
    if (this.skipped && client.bufferedAmount > this.limit) this.unpinged.add(client);
    else client.sendPing();
  }

  /** Call this when a client has read some of the waiting bytes. */
  progressed(client: Pinged): void {
    if (this.unpinged.size > 0 && client.bufferedAmount <= this.limit && this.unpinged.delete(client))
      client.sendPing();
  }

  /** Call this when a client is gone. */
  forget(client: Pinged): void {
    this.unpinged.delete(client);
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
