import type { IncomingMessage } from 'node:http';
import { CountedBytes } from '../../engine/delivery/counted-bytes.js';
import type { HeldBytes } from '../../engine/delivery/held-bytes.js';
import type { HttpResponse } from '../../sockets.js';
import type { ResponseWriter } from './response-writer.js';

/** uWebSockets.js disconnects a client that sends less than 16 KB/s for 10 s, unless its timer is reset earlier. */
const PATIENCE_MS = 2000;
/** How often the timer of a connection is reset whose body is complete, but was paused before: within the same 10 s. */
const WATCH_MS = 5000;
/** The number of bytes that may wait for the application while the client cannot be paused. */
const MAX_UNREAD_BYTES = 64 << 20;

/**
 * Passes the body of a request to its message, as fast as the application reads. While the application is behind,
 * uWebSockets.js does not read from the client either.
 *
 * uWebSockets.js does not write to a paused connection, and keeps only two states that `resume()` may restore: those of
 * the connections that were paused last with and without waiting output. Therefore only connections without waiting
 * output are paused, and each is paused again in the moment in which it is resumed.
 */
export class Upload {
  /** Whether the whole body has arrived. */
  isComplete = false;
  /** Called when the last part has arrived, even if the response is complete. */
  onReceived: (() => void) | undefined;
  private isPaused = false;
  /** Whether the rest of the body is dropped. */
  private isDropped = false;
  /** Whether the response is complete or the client has disconnected. The connection must not be touched then. */
  private isGone = false;
  private clockSetBack = performance.now();
  private watch: NodeJS.Timeout | undefined;
  /** Undefined while the application has not been behind. */
  private unread: CountedBytes | undefined;

  /** Create it in the request's handler. `received` is called with the length of each part, `incoming` once unread bytes wait. */
  constructor(
    private readonly res: HttpResponse,
    private readonly message: IncomingMessage,
    private readonly writer: ResponseWriter,
    received: (bytes: number) => void,
    private readonly incoming: () => HeldBytes,
  ) {
    message._read = () => this.resume();
    res.onData((part, isLast) => {
      if (isLast) this.onReceived?.();
      if (this.isGone) return;
      received(part.byteLength);
      // The memory of the part belongs to uWebSockets.js, so the message gets a copy.
      if (part.byteLength > 0 && !this.isDropped) message.push(Buffer.from(new Uint8Array(part)));
      if (isLast) this.complete();
      else this.pace();
    });
  }

  /** Pauses the client if the application is behind. Call it again when the client has read the waiting output. */
  pace(): void {
    const { message, res, writer } = this;
    if (this.isGone || this.isComplete) return;
    if (writer.isBehind) {
      // The failed write has made uWebSockets.js read again.
      this.isPaused = false;
      if (message.readableLength > MAX_UNREAD_BYTES) message.socket.destroy();
      else this.count();
      return;
    }
    const now = performance.now();
    const isFull = !this.isDropped && message.readableLength >= message.readableHighWaterMark;
    if (!isFull && (this.isPaused || now - this.clockSetBack < PATIENCE_MS)) return;
    this.clockSetBack = now;
    if (isFull) this.count();
    if (this.isGone) return;
    this.isPaused = true;
    res.pause();
    if (!isFull) this.resume();
  }

  /** The application has answered, so the rest of the body is read and dropped. */
  drop(): void {
    this.isDropped = true;
    this.resume();
  }

  private count(): void {
    const { message } = this;
    this.unread ??= new CountedBytes(this.incoming(), () => message.socket.destroy());
    this.unread.set(message.readableLength);
  }

  private resume(): void {
    this.unread?.set(0);
    if (!this.isPaused || this.isGone) return;
    this.isPaused = false;
    if (!this.writer.isBehind) this.read();
  }

  private read(): void {
    this.res.pause();
    this.res.resume();
  }

  private complete(): void {
    this.isComplete = true;
    this.message.complete = true;
    if (this.isPaused) {
      this.resume();
      // resume() has set the timer of 10 s, and the application may take longer.
      this.watch = setInterval(() => {
        if (!this.writer.isBehind) this.read();
      }, WATCH_MS);
      this.watch.unref();
    }
    this.message.push(null);
  }

  /**
   * The response is about to be complete. Otherwise a paused connection would never be read again: afterwards nothing may
   * touch it.
   */
  release(): void {
    this.drop();
    this.leave();
  }

  /** The client has disconnected. */
  leave(): void {
    if (this.isGone) return;
    this.isGone = true;
    this.unread?.set(0);
    clearInterval(this.watch);
  }
}
