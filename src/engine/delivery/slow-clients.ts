import type { NativeWebSocket } from '../http/exchange.js';
import type { EngineSettings } from '../options.js';
import { DroppedDeliveries } from './dropped-deliveries.js';

/** Somebody whose client can be too far behind. */
export interface Closable {
  onOverflow(): void;
}

/** Somebody whose client is asked for a sign of life. */
export interface Pinged {
  /** How many bytes wait for the client. */
  readonly bufferedAmount: number;
  sendPing(): void;
}

/** What becomes of clients for whom more than `maxBackpressure` bytes wait, by `slowPolicy`. */
export class SlowClients {
  /** How many bytes may wait for a client; 0 is no limit. */
  readonly limit: number;
  /** Tells what topics skip; only where messages are dropped, and not their client. */
  readonly skipped: DroppedDeliveries | undefined;
  private readonly unpinged = new Set<Pinged>();
  private readonly overflowing = new Set<Closable>();

  constructor({ maxBackpressure, slowPolicy }: Pick<EngineSettings, 'maxBackpressure' | 'slowPolicy'>) {
    this.limit = maxBackpressure;
    this.skipped = maxBackpressure > 0 && slowPolicy === 'drop' ? new DroppedDeliveries() : undefined;
  }

  /** To be called when uWebSockets.js tells of a message that it has dropped. */
  onDropped(ws: NativeWebSocket, message: ArrayBuffer, receiver: Closable): void {
    if (this.skipped) this.skipped.dropped(ws, message);
    else this.overflow(receiver);
  }

  /** To be called when a message was not handed over, because too much waits already. */
  overflow(receiver: Closable): void {
    if (this.skipped) {
      this.skipped.count++;
      return;
    }
    // Not now: somebody is in the middle of a broadcast.
    if (this.overflowing.size === 0) setImmediate(this.closeOverflowing);
    this.overflowing.add(receiver);
  }

  /** Pings a client; one whose ping would be dropped now, once it has taken some of what waits. */
  ping(client: Pinged): void {
    if (this.skipped && client.bufferedAmount > this.limit) this.unpinged.add(client);
    else client.sendPing();
  }

  /** To be called when a client has taken some of what waited. */
  progressed(client: Pinged): void {
    if (this.unpinged.size > 0 && client.bufferedAmount <= this.limit && this.unpinged.delete(client))
      client.sendPing();
  }

  /** To be called when a client is gone. */
  forget(client: Pinged): void {
    this.unpinged.delete(client);
  }

  private readonly closeOverflowing = (): void => {
    const receivers = [...this.overflowing];
    this.overflowing.clear();
    for (const receiver of receivers) receiver.onOverflow();
  };
}
