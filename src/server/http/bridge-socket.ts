import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import { describeConnection, type Ends } from './connection-facts.js';
import { IdleTimer } from './idle-timer.js';

/** Stands for the `net.Socket` of a connection that uWebSockets.js owns. WebSocket libraries use it. */
export class BridgeSocket extends Duplex {
  bytesRead = 0;
  bytesWritten = 0;
  timeout = 0;
  private readonly timer = new IdleTimer(() => this.emit('timeout'));

  constructor(readonly ends: Ends) {
    super({ allowHalfOpen: true, autoDestroy: false });
  }

  get readyState(): 'open' | 'closed' {
    return this.destroyed ? 'closed' : 'open';
  }

  address(): AddressInfo {
    return this.ends.local;
  }

  /** As in node:net. */
  setTimeout(timeout: number, callback?: () => void): this {
    this.timeout = timeout;
    this.timer.set(timeout);
    if (callback && timeout > 0) this.once('timeout', callback);
    else if (callback) this.removeListener('timeout', callback);
    return this;
  }

  /** Bytes were read or written. */
  protected touch(): void {
    this.timer.touch();
  }

  /** Closes the connection after the last write. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', this.destroy);
  }

  resetAndDestroy(): this {
    return this.destroy();
  }

  override _read(): void {}

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.timer.set(0);
    done(error);
  }
}

describeConnection(BridgeSocket);
