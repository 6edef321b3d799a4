import type { Socket } from 'node:net';
import { nextTick, setImmediate } from '../../base/clock.js';
import { raise } from '../../base/owner.js';
import type { FrameReceiver, LeftWebSocket, NativeWebSocket } from '../http/exchange.js';
import type { Inflater } from '../limits/frame-guard.js';
import type { Writable } from '../uws/app.js';
import { closeCodes, type FrameTarget, inflated, readFrames, type Unfinished } from './frame-reader.js';
import { closePayload, frameOf, opcodes, viewOf } from './frames.js';
import { canPass, stopReading } from './node-net.private.js';
import type { SocketOwner } from './socket-owner.js';
import { OutgoingMessage } from './topics.js';
import type { NodeWebSockets } from './web-sockets.js';
import { type Batch, isBehind } from './writer.js';

/** What `send` returns, as in uWebSockets.js. */
const WAITS = 0;
const SENT = 1;
const DROPPED = 2;

/** Bytes that one turn gathers for a socket at most, before they are written. */
const MAX_GATHERED_BYTES = 131_072;
/** Memory of a write that waits besides its bytes, in bytes. */
const WRITE_OVERHEAD = 160;
/** The longest reason of a close frame, in bytes. Source: RFC 6455, section 5.5. */
const MAX_REASON_BYTES = 123;
/** The longest beginning of a frame that another process is given, in bytes. */
const MAX_REST_BYTES = 65_536;
const EMPTY = Buffer.alloc(0);
const NO_TOPICS: ReadonlySet<string> = new Set();

/** A WebSocket on a connection that node:http has upgraded. */
export class NodeWebSocket implements NativeWebSocket, FrameTarget, Inflater, SocketOwner {
  isReading = true;
  private isOpen = true;
  /** The last sweep before something came from the client, in s. */
  heardAt: number;
  private batch: Batch | undefined = undefined;
  private unfinished: Unfinished | undefined = undefined;
  private topics: Set<string> | undefined = undefined;
  private awaitsDrain = false;
  /** The writes that wait for the client. */
  private waiting = 0;
  /** Whether a message has come with the bytes that are being read. */
  private hasMessage = false;

  constructor(
    readonly socket: Socket,
    private readonly host: NodeWebSockets,
    private readonly receiver: FrameReceiver,
    readonly compresses: boolean,
  ) {
    this.heardAt = host.seconds;
    host.sockets.add(this);
  }

  /**
   * Sends the response to the handshake, with what is sent meanwhile, and begins to read.
   * @param rest what came after the handshake
   */
  open(response: Buffer, rest: Buffer): void {
    const { host, receiver, socket } = this;
    this.push(response);
    receiver.onOpen(this);
    // Nothing else can have been written before.
    if (this.isOpen) host.writer.write(this);
    // The application does not know the session before the caller has returned.
    if (rest.length > 0) nextTick(() => this.isReading && !socket.destroyed && this.onData(rest));
  }

  /**
   * Goes on with a connection that another process had.
   * @param rest the beginning of a frame, which that process has read
   */
  goOn(rest: Buffer): void {
    const { socket } = this;
    if (!this.isOpen || socket.destroyed) return;
    if (rest.length > 0) this.onData(rest);
    socket.resume();
  }

  get maxPayload(): number {
    return this.host.maxPayload;
  }

  onData(chunk: Buffer): void {
    this.heardAt = this.host.seconds;
    this.hasMessage = false;
    this.unfinished = readFrames(chunk, this.unfinished, this);
  }

  /** The client sends no more. Without a close frame, that is as good as gone, and what still waits might never be read. */
  onEnd(): void {
    this.socket.destroy();
    this.onGone();
  }

  onGone(): void {
    // What has stopped the reading is the reason.
    if (this.isReading) this.closed(closeCodes.abnormal, '');
  }

  onMessage(data: Buffer, isBinary: boolean, inflater?: this): void {
    const isFurther = this.hasMessage;
    this.hasMessage = true;
    // The messages that have come behind it must not be lost with it.
    try {
      this.host.events.message(this.receiver, data, isBinary, isFurther, inflater);
    } catch (error) {
      raise(error);
    }
  }

  onCompressed(data: Buffer, isBinary: boolean): void {
    this.onMessage(data, isBinary, this);
  }

  inflated(data: Buffer, isBinary: boolean): Buffer | undefined {
    return inflated(data, isBinary, this);
  }

  onPing(data: Buffer): void {
    // A client that does not read gets no pongs either.
    if (!this.isOverLimit()) this.push(frameOf(data, opcodes.pong));
    this.host.events.control(this.receiver);
  }

  onPong(): void {
    this.host.events.ponged(this, this.receiver);
  }

  /** The client's close frame, which is answered. Source: RFC 6455, section 5.5.1. */
  onCloseFrame(code: number, reason: Buffer): void {
    const text = reason.toString();
    this.stopReading(() => {
      this.endWith(code === closeCodes.noStatus ? undefined : code, reason);
      this.closed(code, text);
    });
  }

  onFault(code: number, reason: string): void {
    this.stopReading(() => {
      this.endWith(code, EMPTY);
      // Its client may never read the reason.
      this.socket.destroySoon();
      this.closed(closeCodes.abnormal, reason);
    });
  }

  /** What the messages before it have begun ends first: Socket.IO passes them on in later ticks. */
  private stopReading(then: () => void): void {
    this.isReading = false;
    setImmediate(() => this.isOpen && then());
  }

  send(message: Writable, isBinary = false, compress = false): number {
    if (!this.isOpen) return DROPPED;
    return this.deliver(OutgoingMessage.of(message, isBinary, compress));
  }

  deliver(message: OutgoingMessage): number {
    if (this.isOverLimit()) {
      this.host.events.dropped(this, this.receiver);
      return DROPPED;
    }
    this.push(message.frameFor(this.compresses));
    return isBehind(this.socket) ? WAITS : SENT;
  }

  getBufferedAmount(): number {
    const { writableLength } = this.socket;
    return writableLength && writableLength + this.waiting * WRITE_OVERHEAD;
  }

  end(code?: number, reason: Writable = ''): void {
    if (!this.isOpen) return;
    const text = viewOf(reason).subarray(0, MAX_REASON_BYTES);
    const isWithoutCode = code === undefined || code === closeCodes.noStatus;
    this.endWith(isWithoutCode ? undefined : code, isWithoutCode ? EMPTY : text);
    this.closed(code ?? closeCodes.noStatus, text.toString());
  }

  close(): void {
    this.socket.destroy();
    this.closed(closeCodes.abnormal, '');
  }

  ping(): number {
    if (!this.isOpen || this.isOverLimit()) return DROPPED;
    this.push(PING);
    return isBehind(this.socket) ? WAITS : SENT;
  }

  subscribe(topic: string): boolean {
    if (!this.isOpen) return false;
    this.topics ??= new Set();
    this.topics.add(topic);
    this.host.topics.subscribe(this, topic);
    return true;
  }

  unsubscribe(topic: string): boolean {
    if (!this.topics?.delete(topic)) return false;
    this.host.topics.unsubscribe(this, topic);
    return true;
  }

  getTopics(): string[] {
    return [...(this.topics ?? NO_TOPICS)];
  }

  cork(write: () => void): void {
    write();
  }

  /** Takes the frames that wait. */
  take(): Batch | undefined {
    const { batch } = this;
    this.batch = undefined;
    return this.socket.destroyed ? undefined : batch;
  }

  /** What was just written is waiting for the client. */
  onBacklog(): void {
    this.waiting++;
    if (!this.awaitsDrain) this.awaitDrain();
  }

  private awaitDrain(): void {
    const { socket, waiting } = this;
    this.awaitsDrain = true;
    // Its callback comes once all that was written before is with the kernel.
    socket.write(EMPTY, () => {
      this.awaitsDrain = false;
      if (!this.isOpen || socket.destroyed) return;
      const isBehindAgain = socket.writableLength > 0;
      this.waiting = isBehindAgain ? this.waiting - waiting : 0;
      if (isBehindAgain) this.awaitDrain();
      this.host.events.drained(this, this.receiver);
    });
  }

  /** Whether more bytes wait for the client than the route allows. */
  private isOverLimit(): boolean {
    const { maxBackpressure } = this.host;
    return maxBackpressure > 0 && this.getBufferedAmount() > maxBackpressure;
  }

  private push(frame: Buffer): void {
    const batch = this.batch ? this.batch.with(frame) : this.host.writer.begin(this, frame);
    this.batch = batch;
    if (batch.length > MAX_GATHERED_BYTES) this.host.writer.write(this);
  }

  /** Sends a close frame behind everything else, and then nothing more. */
  private endWith(code: number | undefined, reason: Buffer): void {
    const { socket, host } = this;
    this.push(frameOf(closePayload(code, reason), opcodes.close));
    host.writer.write(this);
    socket.end();
    host.endSoon(socket);
  }

  get canLeave(): boolean | undefined {
    const { isOpen, isReading, unfinished, socket, host, receiver } = this;
    if (this.batch) host.writer.write(this);
    const canGo = canPass(socket);
    if (!canGo || !isOpen || !isReading || host.events.isWaiting(this, receiver)) return canGo && false;
    return !unfinished || (unfinished.first === 0 && unfinished.frame.length <= MAX_REST_BYTES);
  }

  leave(): LeftWebSocket {
    const { socket, compresses } = this;
    const rest = this.unfinished?.frame.take() ?? EMPTY;
    stopReading(socket);
    this.detach();
    return { socket, rest, compresses };
  }

  private closed(code: number, reason: string): void {
    if (!this.isOpen) return;
    this.detach();
    this.host.events.closed(this, this.receiver, code, reason);
  }

  private detach(): void {
    this.isOpen = false;
    this.isReading = false;
    this.unfinished = undefined;
    const { topics, sockets } = this.host;
    for (const topic of this.topics ?? NO_TOPICS) topics.unsubscribe(this, topic);
    this.topics = undefined;
    sockets.delete(this);
  }
}

const PING = frameOf('', opcodes.ping);
