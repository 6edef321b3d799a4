import type { Socket } from 'node:net';
import type { WebSocket, WebSocketBehavior, Writable } from '../../sockets.js';
import { isBehind } from '../behind.js';
import { arrayBufferOf, bytesOf, packed } from '../bytes.js';
import { frameOf, opcodes } from './frames.js';
import type { InnerOwner, InnerWebSocket } from './inner.js';
import { OutgoingMessage } from './outgoing-message.js';
import type { Subscriber, Topics } from './topics.js';
import type { Writer, Writing } from './writer.js';

/** What `send` returns, as in uWebSockets.js. */
const WAITS = 0;
const SENT = 1;
const DROPPED = 2;

/** Bytes that one turn gathers for a socket at most, before they are written. */
const MAX_GATHERED_BYTES = 65_536;
/** The connection ended without a close frame. Source: RFC 6455, section 7.1.5. */
const ABNORMAL = 1006;
const NO_STATUS = 1005;
/** The longest reason of a close frame, in bytes. Source: RFC 6455, section 5.5. */
const MAX_REASON_BYTES = 123;
/** The code of `ws` for a message that is longer than the route allows. */
const TOO_LONG = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
const NOTHING = new ArrayBuffer(0);
const NO_FRAMES: Buffer[] = [];
const EMPTY = Buffer.alloc(0);

export interface WebSocketHost<UserData> {
  readonly behavior: WebSocketBehavior<UserData>;
  readonly topics: Topics;
  readonly writer: Writer;
  readonly sockets: Set<PortableWebSocket>;
}

/**
 * A WebSocket of the package `ws` as uWebSockets.js offers it. `ws` reads frames and closes; all other frames are written
 * here, so that those of one turn are gathered.
 */
export class PortableWebSocket implements WebSocket<unknown>, Writing, InnerOwner, Subscriber {
  private readonly subscribed = new Set<string>();
  private frames = NO_FRAMES;
  private gathered = 0;
  private isClosed = false;
  private awaitsDrain = false;
  /** How many bytes had been read at the last look, and when a look first found that number. */
  private read = -1;
  private heardAt = 0;
  /** Whether a ping was sent since something came from the client. */
  isPinged = false;
  private readonly mayCompress: boolean;

  constructor(
    private readonly inner: InnerWebSocket,
    readonly socket: Socket,
    private readonly host: WebSocketHost<unknown>,
  ) {
    this.mayCompress = inner.extensions !== '';
    host.sockets.add(this);
  }

  /** Begins to call the behavior's handlers. */
  open(): void {
    this.inner.owner = this;
    this.host.behavior.open?.(this);
  }

  onMessage(data: Buffer, isBinary: boolean): void {
    if (!this.isClosed) this.host.behavior.message?.(this, data, isBinary);
  }

  onPing(data: Buffer): void {
    if (this.isClosed) return;
    // A client that does not read gets no pongs either.
    if (!this.isOverLimit()) this.push(frameOf(data, opcodes.pong));
    this.host.behavior.ping?.(this, arrayBufferOf(data));
  }

  onPong(data: Buffer): void {
    if (!this.isClosed) this.host.behavior.pong?.(this, arrayBufferOf(data));
  }

  /** `ws` has sent a close frame with the reason, and waits for the client's, which may never come. */
  onError({ code, message }: NodeJS.ErrnoException): void {
    this.socket.destroySoon();
    this.closed(ABNORMAL, code === TOO_LONG ? 'Received too big message' : `Received an invalid frame: ${message}`);
  }

  onClose(code: number, reason: Buffer): void {
    this.closed(code, reason);
  }

  send(message: Writable, isBinary = false, compress = false): number {
    if (this.isClosed) return DROPPED;
    return this.deliver(new OutgoingMessage(message, isBinary, compress));
  }

  deliver(message: OutgoingMessage): number {
    if (this.isOverLimit()) {
      this.host.behavior.dropped?.(this, arrayBufferOf(message.payload), message.isBinary);
      return DROPPED;
    }
    this.push(message.frameFor(this.mayCompress));
    return isBehind(this.socket) ? WAITS : SENT;
  }

  getBufferedAmount(): number {
    return this.socket.writableLength;
  }

  end(code?: number, reason: Writable = ''): void {
    if (this.isClosed) return;
    const text = bytesOf(reason).subarray(0, MAX_REASON_BYTES);
    this.host.writer.write(this);
    // Without a code, the frame is empty.
    if (code === undefined || code === NO_STATUS) this.inner.close();
    else this.inner.close(code, text);
    this.closed(code ?? NO_STATUS, text);
  }

  close(): void {
    this.inner.terminate();
    this.closed(ABNORMAL, '');
  }

  ping(message: Writable = ''): number {
    if (this.isClosed || this.isOverLimit()) return DROPPED;
    this.isPinged = true;
    this.push(frameOf(message, opcodes.ping));
    return isBehind(this.socket) ? WAITS : SENT;
  }

  subscribe(topic: string): boolean {
    if (this.isClosed) return false;
    this.subscribed.add(topic);
    this.host.topics.subscribe(this, topic);
    return true;
  }

  unsubscribe(topic: string): boolean {
    if (!this.subscribed.delete(topic)) return false;
    this.host.topics.unsubscribe(this, topic);
    return true;
  }

  isSubscribed(topic: string): boolean {
    return this.subscribed.has(topic);
  }

  getTopics(): string[] {
    return [...this.subscribed];
  }

  publish(topic: string, message: Writable, isBinary = false, compress = false): boolean {
    return this.host.topics.publish(topic, message, isBinary, compress, this);
  }

  cork(write: () => void): WebSocket<unknown> {
    write();
    return this;
  }

  getRemoteAddress(): ArrayBuffer {
    return packed(this.socket.remoteAddress);
  }

  getRemoteAddressAsText(): ArrayBuffer {
    return arrayBufferOf(Buffer.from(this.socket.remoteAddress ?? ''));
  }

  getUserData(): unknown {
    return this;
  }

  /** For how many ms nothing has come from the client, as far as calls of this can tell. */
  silence(now: number): number {
    const { bytesRead } = this.socket;
    if (bytesRead !== this.read) {
      this.heardAt = now;
      this.isPinged = false;
    }
    this.read = bytesRead;
    return now - this.heardAt;
  }

  take(): Buffer[] {
    const { frames } = this;
    this.frames = NO_FRAMES;
    this.gathered = 0;
    return this.isClosed ? NO_FRAMES : frames;
  }

  onBacklog(): void {
    if (this.awaitsDrain) return;
    this.awaitsDrain = true;
    // Its callback comes once all that was written before is with the kernel.
    this.socket.write(EMPTY, () => {
      this.awaitsDrain = false;
      if (!this.isClosed) this.host.behavior.drain?.(this);
    });
  }

  /** Whether more bytes wait for the client than the route allows. */
  private isOverLimit(): boolean {
    const { maxBackpressure = 0 } = this.host.behavior;
    return maxBackpressure > 0 && this.socket.writableLength > maxBackpressure;
  }

  private push(frame: Buffer): void {
    if (this.frames.length === 0) {
      this.frames = [frame];
      this.host.writer.add(this);
    } else this.frames.push(frame);
    this.gathered += frame.length;
    if (this.gathered > MAX_GATHERED_BYTES) this.host.writer.write(this);
  }

  private closed(code: number, reason: string | Buffer): void {
    if (this.isClosed) return;
    this.isClosed = true;
    const { behavior, topics, sockets } = this.host;
    for (const topic of this.subscribed) topics.unsubscribe(this, topic);
    this.subscribed.clear();
    sockets.delete(this);
    behavior.close?.(this, code, reason.length === 0 ? NOTHING : arrayBufferOf(Buffer.from(reason)));
  }
}
