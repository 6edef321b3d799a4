import { EventEmitter } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describeConnection, type Ends } from './connection-facts.js';
import { IdleTimer } from './idle-timer.js';
import type { ResponseWriter, Written } from './response-writer.js';

const EMPTY = Buffer.alloc(0);
/** Shared by all sockets, because none of them holds data back. */
const corking = { corked: 0 };
const HIGH_WATER_MARK = 16_384;

/**
 * Stands for the `net.Socket` of a request that uWebSockets.js has parsed. Each request has its own, because
 * uWebSockets.js does not report which requests share a connection.
 *
 * node:http writes the body of the response to it. It is not a stream, but has the methods that are called on the socket
 * of a request: creating a Duplex would cost more than the rest of the bridge together.
 */
export class HttpSocket extends EventEmitter {
  /** Whether the server's `connection` listeners were called with it. */
  isAnnounced = false;
  destroyed = false;
  timeout = 0;
  bytesRead = 0;
  bytesWritten = 0;
  readonly writableHighWaterMark = HIGH_WATER_MARK;
  readonly writableLength = 0;
  readonly writableCorked = 0;
  /** ServerResponse.end() sets a count in it, and calls uncork(). */
  readonly _writableState = corking;
  private timer: IdleTimer | undefined;

  /**
   * @param onTimeout called after the time set with setTimeout(), if nothing was read or written meanwhile
   * @param onDestroy called once, when the connection is destroyed or the client disconnects
   */
  constructor(
    readonly ends: Ends,
    private readonly writer: ResponseWriter,
    private readonly onTimeout: () => void,
    private readonly onDestroy: () => void,
  ) {
    super();
  }

  get writable(): boolean {
    return !this.destroyed;
  }

  get readable(): boolean {
    return !this.destroyed;
  }

  get closed(): boolean {
    return this.destroyed;
  }

  get readyState(): 'open' | 'closed' {
    return this.destroyed ? 'closed' : 'open';
  }

  address(): AddressInfo {
    return this.ends.local;
  }

  write(data: string | Uint8Array, encoding?: BufferEncoding | Written, written?: Written): boolean {
    const callback = typeof encoding === 'function' ? encoding : written;
    const { writer } = this;
    // An informational response, such as 103, is written before the head.
    if (!writer.hasHead) {
      writer.inform(String(data));
      if (callback) process.nextTick(callback);
      return true;
    }
    const bytes = bytesOf(data, typeof encoding === 'string' ? encoding : undefined);
    this.bytesWritten += bytes.length;
    this.timer?.touch();
    return writer.write(bytes, callback);
  }

  end(data?: string | Uint8Array, encoding?: BufferEncoding): this {
    if (data !== undefined) this.write(data, encoding);
    this.writer.end();
    return this;
  }

  destroy(error?: Error): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.timer?.set(0);
    this.writer.destroy();
    process.nextTick(() => {
      if (error && this.listenerCount('error') > 0) this.emit('error', error);
      this.onDestroy();
      this.emit('close', Boolean(error));
    });
    return this;
  }

  destroySoon(): void {
    this.end();
    this.destroy();
  }

  resetAndDestroy(): this {
    return this.destroy();
  }

  /** As in node:net. */
  setTimeout(timeout: number, callback?: () => void): this {
    this.timeout = timeout;
    this.timer ??= new IdleTimer(() => {
      this.emit('timeout');
      this.onTimeout();
    });
    this.timer.set(timeout);
    if (callback && timeout > 0) this.once('timeout', callback);
    else if (callback) this.removeListener('timeout', callback);
    return this;
  }

  /** A part of the request's body was received. */
  received(bytes: number): void {
    this.bytesRead += bytes;
    this.timer?.touch();
  }

  /** The response is complete, so no timeout applies from now on. */
  settle(): void {
    this.timer?.set(0);
  }

  cork(): void {}

  uncork(): void {}

  pause(): this {
    return this;
  }

  resume(): this {
    return this;
  }
}

describeConnection(HttpSocket);

function bytesOf(data: string | Uint8Array, encoding: BufferEncoding | undefined): Buffer {
  if (data.length === 0) return EMPTY;
  if (typeof data === 'string') return Buffer.from(data, encoding);
  return Buffer.isBuffer(data) ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
