import { EventEmitter } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describeConnection, type Ends } from './connection-facts.js';
import { IdleTimer } from './idle-timer.js';
import type { ResponseWriter, Written } from './response-writer.js';

const EMPTY = Buffer.alloc(0);
/** Nothing is held back here, so that it can be the same for all. */
const corking = { corked: 0 };
const HIGH_WATER_MARK = 16_384;

/**
 * What an application sees as the `net.Socket` of a request that came in through uWebSockets.js. There is one for each
 * request, since uWebSockets.js does not tell which requests share a connection.
 *
 * node:http writes the body of the response to it. It has the methods of a stream that are called on the socket of a
 * request, and is none: to make a Duplex would cost more than all the rest of the bridge.
 */
export class HttpSocket extends EventEmitter {
  /** Whether listeners of the server's event `connection` know of it. */
  isAnnounced = false;
  destroyed = false;
  timeout = 0;
  bytesRead = 0;
  bytesWritten = 0;
  readonly writableHighWaterMark = HIGH_WATER_MARK;
  readonly writableLength = 0;
  readonly writableCorked = 0;
  /** ServerResponse.end() sets a count there, and calls uncork(). */
  readonly _writableState = corking;
  private timer: IdleTimer | undefined;

  /**
   * @param onTimeout called when there was no sign of life for the time that setTimeout() was given
   * @param onDestroy called once, when the connection is cut off or the client has gone
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
    // Informational responses, such as 103, go out before the head. uWebSockets.js cannot send them, and sends 100 itself.
    if (!writer.hasHead) {
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

  /** A part of the request's body has come. */
  received(bytes: number): void {
    this.bytesRead += bytes;
    this.timer?.touch();
  }

  /** The response is complete: no time-out is due any more. */
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
