import type { HttpResponse } from 'uWebSockets.js';
import type { IncomingMessage } from 'node:http';
import type { ResponseWriter } from './response-writer.js';

/** uWebSockets.js disconnects a client that sends less than 16 KB/s for 10 s, unless its timer is reset earlier. */
const PATIENCE_MS = 2000;
/** The number of bytes that may wait for the application while the client cannot be paused. */
const MAX_UNREAD_BYTES = 64 << 20;

/**
 * Passes the body of a request to its message, as fast as the application reads. While the application is behind,
 * uWebSockets.js does not read from the client either.
 *
 * uWebSockets.js does not write to a paused connection, and `resume()` restores the state of the connection that was
 * paused last, even if it is another one. Therefore only connections without waiting output are paused.
 */
export class Upload {
  private isPaused = false;
  private isOver = false;
  private isDumped = false;
  private clockSetBack = performance.now();

  /** Create it in the request's handler. `received` is called with the length of each part. */
  constructor(
    private readonly res: HttpResponse,
    private readonly message: IncomingMessage,
    private readonly writer: ResponseWriter,
    received: (bytes: number) => void,
  ) {
    message._read = () => this.resume();
    res.onData((part, isLast) => {
      if (this.isOver) return;
      received(part.byteLength);
      // The memory of the part belongs to uWebSockets.js, so the message gets a copy.
      if (part.byteLength > 0 && !this.isDumped) message.push(Buffer.from(new Uint8Array(part)));
      if (isLast) this.complete();
      else this.pace();
    });
  }

  /** Pauses the client if the application is behind. Call it again when the client has read the waiting output. */
  pace(): void {
    const { message, res } = this;
    if (this.isOver || this.isPaused) return;
    if (this.writer.isBehind) {
      if (message.readableLength > MAX_UNREAD_BYTES) message.socket.destroy();
      return;
    }
    const now = performance.now();
    const isFull = !this.isDumped && message.readableLength >= message.readableHighWaterMark;
    if (!isFull && now - this.clockSetBack < PATIENCE_MS) return;
    this.clockSetBack = now;
    this.isPaused = true;
    res.pause();
    if (!isFull) this.resume();
  }

  private resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    if (!this.isOver) this.res.resume();
  }

  private complete(): void {
    this.isOver = true;
    this.message.complete = true;
    this.message.push(null);
  }

  /**
   * Call it before the response is complete. Otherwise a paused connection would never be read again. The rest of the
   * body is dropped.
   */
  release(): void {
    this.resume();
    this.isDumped = true;
  }

  /** The client has disconnected. */
  abort(): void {
    this.isOver = true;
  }
}
