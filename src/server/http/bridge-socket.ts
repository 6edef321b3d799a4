import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Duplex, type DuplexOptions } from 'node:stream';

/** The two ends of a connection that uWebSockets.js holds. */
export interface Ends {
  /** The client's address, in the notation of node:net. */
  remoteAddress: string;
  /** Where the server listens. */
  local: AddressInfo;
}

/**
 * What an application sees as the `net.Socket` of a request that came in through uWebSockets.js. There is one for each
 * request, since uWebSockets.js does not tell which requests share a connection, nor the client's port.
 */
export class BridgeSocket extends Duplex {
  readonly remoteAddress: string;
  readonly remoteFamily: string;
  readonly remotePort = undefined;
  readonly localAddress: string;
  readonly localPort: number;
  readonly localFamily: string;
  readonly connecting = false;
  readonly pending = false;
  readonly encrypted = undefined;
  bytesRead = 0;
  bytesWritten = 0;
  timeout = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly server: Server,
    { remoteAddress, local }: Ends,
    options: DuplexOptions = {},
  ) {
    super({ ...options, emitClose: true, autoDestroy: false });
    this.remoteAddress = remoteAddress;
    this.remoteFamily = remoteAddress.includes(':') ? 'IPv6' : 'IPv4';
    this.localAddress = local.address;
    this.localPort = local.port;
    this.localFamily = local.family;
  }

  get readyState(): 'open' | 'closed' {
    return this.destroyed ? 'closed' : 'open';
  }

  address(): AddressInfo {
    return { address: this.localAddress, family: this.localFamily, port: this.localPort };
  }

  /** As in node:net: emits `timeout` after so long without anything read or written; 0 turns it off. */
  setTimeout(timeout: number, callback?: () => void): this {
    this.timeout = timeout;
    clearTimeout(this.timer);
    this.timer = undefined;
    if (timeout > 0) {
      this.timer = setTimeout(() => this.emit('timeout'), timeout);
      this.timer.unref();
      if (callback) this.once('timeout', callback);
    } else if (callback) {
      this.removeListener('timeout', callback);
    }
    return this;
  }

  /** Something was read or written. */
  protected touch(): void {
    this.timer?.refresh();
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  /** Ends the connection once everything is written. */
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
    clearTimeout(this.timer);
    done(error);
  }
}
