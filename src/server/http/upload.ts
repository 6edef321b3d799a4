import type { HttpResponse } from 'uWebSockets.js';
import type { IncomingMessage } from 'node:http';
import type { ResponseWriter } from './response-writer.js';

/** uWebSockets.js cuts off a client that sends less than 16 KB/s for 10 s, unless its clock is set back in time. */
const PATIENCE_MS = 2000;
/** So much of a body may wait for the application at most, where the client cannot be held back. */
const MAX_UNREAD_BYTES = 64 << 20;

/**
 * Passes the body of a request on to its message, as fast as the application reads. While the application is behind,
 * uWebSockets.js does not read from the client either.
 *
 * A paused connection is not written to, and to resume restores what was last paused on any connection. So only
 * connections without anything to write are paused.
 */
export class Upload {
  private isPaused = false;
  private isOver = false;
  private isDumped = false;
  private clockSetBack = performance.now();

  /** To be made in the request's handler. `received` is told of each part. */
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
      // The part's memory is uWebSockets.js's own.
      if (part.byteLength > 0 && !this.isDumped) message.push(Buffer.from(new Uint8Array(part).slice()));
      if (isLast) this.complete();
      else this.pace();
    });
  }

  /** Holds the client back where the application is behind. To be called again when the client has caught up itself. */
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
   * To be called before the response is complete: a connection that is still paused then would never be read again. What
   * still comes is dropped.
   */
  release(): void {
    this.resume();
    this.isDumped = true;
  }

  /** The client has gone. */
  abort(): void {
    this.isOver = true;
  }
}
