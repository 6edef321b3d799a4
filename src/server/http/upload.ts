import type { HttpResponse } from 'uWebSockets.js';
import type { IncomingMessage } from 'node:http';

/**
 * Passes the body of a request on to its message, as fast as the application reads. While the application is behind,
 * uWebSockets.js does not read from the client either.
 */
export class Upload {
  private isPaused = false;
  private isOver = false;
  private isDumped = false;

  /** To be made in the request's handler. `received` is told of each part. */
  constructor(
    private readonly res: HttpResponse,
    private readonly message: IncomingMessage,
    received: (bytes: number) => void,
  ) {
    message._read = () => this.resume();
    res.onData((part, isLast) => {
      if (this.isOver) return;
      received(part.byteLength);
      // The part's memory is uWebSockets.js's own.
      if (part.byteLength > 0 && !this.isDumped) this.push(Buffer.from(new Uint8Array(part).slice()), isLast);
      if (isLast) this.complete();
    });
  }

  private push(bytes: Buffer, isLast: boolean): void {
    const wantsMore = this.message.push(bytes);
    if (isLast || this.isPaused) return;
    if (wantsMore) {
      // uWebSockets.js cuts off a client that sends less than 16 KB/s; to resume restarts its 10 s.
      this.res.resume();
    } else {
      this.isPaused = true;
      this.res.pause();
    }
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
