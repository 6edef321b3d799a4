import { CountedBytes } from '../../engine/delivery/counted-bytes.js';
import type { HeldBytes } from '../../engine/delivery/held-bytes.js';
import type { HttpResponse } from '../../sockets.js';
import { HeadWriter } from './head-writer.js';
import type { RawRequest } from './raw-request.js';
import { parseHead, type ResponseHead } from './response-head.js';

/** Called once the data is sent; with an error if the client has disconnected. */
export type Written = (error?: Error | null) => void;

/** What the writer needs to know of a request, and reports of the end of its response. */
export interface Ending {
  /** Whether the client still sends the body of the request. */
  readonly isReceiving: boolean;
  /** Calls back once the whole body has arrived, also after the response. */
  whenReceived(onReceived: () => void): void;
  /** The response is about to be complete. Afterwards nothing may touch the connection. It may be called twice. */
  beforeEnd(): void;
}

/** Longer bodies are not sent in one piece: uWebSockets.js would buffer the part that a slow client does not read. */
const MAX_WHOLE_BYTES = 65_536;
/** How long the end of a response with a known length waits for the end of the request's body. */
const LINGER_MS = 1000;
/** How long a client may take to close a connection, or to send the rest of its request, after the last response. */
const CLOSE_PATIENCE_MS = 5000;

/**
 * Writes the response of a node:http ServerResponse to uWebSockets.js. A body with a known length is sent as it is, any
 * other body in chunks.
 */
export class ResponseWriter {
  /** Called when a slow client has read the waiting bytes. */
  onDrain: (() => void) | undefined;
  /** Called once the response is complete or the client has disconnected. */
  onOver: (() => void) | undefined;
  /** True once the response is complete or the client has disconnected. Nothing can be written then. */
  isOver = false;
  /** Whether written bytes still wait for the client. */
  isBehind = false;
  private head: ResponseHead | undefined;
  private readonly headWriter: HeadWriter;
  private isHeadSent = false;
  /** The part of a body with a known length that was not sent yet. */
  private waiting: Buffer[] = [];
  /** Bytes of these parts, and of the part that uWebSockets.js keeps. */
  private waitingBytes = 0;
  private keptBytes = 0;
  /** Counts them; undefined while the client has not been behind. */
  private unread: CountedBytes | undefined;
  private taken = 0;
  private callbacks: Written[] = [];
  private isEnding = false;
  private trailers = '';
  private closing: NodeJS.Timeout | undefined;
  private isWatching = false;
  /** Whether the end of a connection's last response may be sent. */
  private lastMay: 'unknown' | 'wait' | 'go' = 'unknown';
  private readonly isHead: boolean;

  constructor(
    private readonly res: HttpResponse,
    private readonly request: Pick<RawRequest, 'method' | 'isFlagged' | 'isLast' | 'endsConnection' | 'framing'>,
    private readonly ending: Ending,
    private readonly outgoing: () => HeldBytes,
  ) {
    this.headWriter = new HeadWriter(res);
    this.isHead = request.method === 'HEAD';
  }

  get hasHead(): boolean {
    return this.head !== undefined;
  }

  /** Whether uWebSockets.js must read no further request from the connection. */
  private get isLast(): boolean {
    const { isLast, endsConnection } = this.request;
    return isLast || (this.head!.isLast && !endsConnection);
  }

  /** Whether the connection ends with this response, and the client still sends the body of the request. */
  private get isEarly(): boolean {
    return this.head!.isLast && this.ending.isReceiving;
  }

  /** Sets the head. It is sent with the first part of the body. */
  setHead(text: string): void {
    this.head = parseHead(text, this.request.isLast || this.request.endsConnection);
  }

  /** Sends an informational response. uWebSockets.js sends `100 Continue` itself. */
  inform(text: string): void {
    if (this.isOver || text.startsWith('HTTP/1.1 100 ')) return;
    this.res.cork(() => this.headWriter.informational(text));
  }

  /** Writes a part of the body. Returns false when the client is behind. */
  write(data: Buffer, written?: Written): boolean {
    if (!this.isOver && this.head) {
      if (this.waiting.length > 0 || (this.isBehind && this.head.length !== undefined)) this.keep(data);
      else this.res.cork(() => this.send(data));
    }
    const isWaiting = this.isBehind || this.waiting.length > 0;
    if (isWaiting && written) this.callbacks.push(written);
    else if (written) process.nextTick(written);
    this.count();
    return !isWaiting;
  }

  /** The application has ended the response, with trailers or without. */
  end(trailers = ''): void {
    if (this.isOver || !this.head) return;
    this.isEnding = true;
    this.trailers = trailers;
    if (!this.isBehind && this.waiting.length === 0) this.res.cork(() => this.complete());
  }

  /** The client has disconnected. */
  abort(): void {
    clearTimeout(this.closing);
    this.closing = undefined;
    if (this.isOver) return;
    const error = new Error('The client has closed the connection');
    for (const written of this.callbacks.splice(0)) process.nextTick(written, error);
    this.finish();
  }

  /** Closes the connection at once. */
  destroy(): void {
    if (this.isOver) return;
    this.abort();
    this.res.close();
  }

  private send(data: Buffer): void {
    const head = this.head!;
    const { length } = head;
    if (this.isHead || head.isBodiless) return;
    const isWhole = !this.isHeadSent && data.length === length;
    if (length !== undefined && this.taken + data.length >= length && !this.mayEnd()) {
      this.keep(data);
    } else if (isWhole && this.isEarly) {
      this.head = { ...head, length: undefined };
      this.send(data);
    } else if (isWhole && length <= MAX_WHOLE_BYTES) {
      this.sendHead(true);
      this.finish();
      this.res.end(data, this.head!.isLast);
    } else {
      const bytes = data.length === 0 && !this.isHeadSent ? head.opening : data;
      if (bytes.length === 0) return;
      if (!this.isHeadSent) this.sendHead(false);
      if (length !== undefined) this.sendPart(bytes, length);
      else if (!this.res.write(bytes)) {
        this.keptBytes += bytes.length;
        this.fallBehind();
      }
    }
  }

  /** Sends a part of a body with a known length. uWebSockets.js accepts only the bytes that it can write at once. */
  private sendPart(data: Buffer, length: number): void {
    if (this.taken + data.length >= length) this.beforeEnd();
    const [isSent, isDone] = this.res.tryEnd(data, length);
    if (isDone) return this.finish();
    const before = this.taken;
    this.taken = this.res.getWriteOffset();
    if (isSent) return;
    const sent = this.taken - before;
    if (sent < data.length) {
      this.waiting.unshift(data.subarray(sent));
      this.waitingBytes += data.length - sent;
    }
    this.fallBehind();
  }

  /** @param isWhole whether the response ends in the same step. Then uWebSockets.js writes `Connection: close` itself */
  private sendHead(isWhole: boolean): void {
    this.isHeadSent = true;
    const isWrittenItself = isWhole && this.head!.isLast && !this.request.isFlagged;
    this.headWriter.head(this.head!, isWrittenItself ? 'connection' : undefined);
  }

  private complete(): void {
    if (!this.mayEnd()) return;
    const { res, isHead, trailers, isHeadSent } = this;
    const { isBodiless, isLast, length } = this.head!;
    const hasBody = !isHead && !isBodiless;
    if (this.isEarly && (!isHeadSent || length === undefined)) return this.completeByHand();
    if (hasBody && length === undefined && trailers) return this.completeByHand();
    const isWhole = hasBody && !isHeadSent;
    if (!isHeadSent) this.sendHead(isWhole);
    // When it is told to close the connection, uWebSockets.js writes a length even if there is no body, and the header
    // `Connection` even within the chunks of a body.
    if (!isWhole) this.beforeEnd();
    this.finish();
    if (isHead && length !== undefined) res.writeHeader('Content-Length', String(length));
    if (!hasBody) res.endWithoutBody();
    // The application has written less than it announced.
    else if (length !== undefined && (isHeadSent || length > 0)) res.close();
    else res.end('', isWhole && isLast);
  }

  /**
   * The response is complete for the client, but not for uWebSockets.js. It cannot end a body with trailers, and would
   * close a connection whose client still sends. The connection ends with this response.
   */
  private completeByHand(): void {
    const { res, isHeadSent, headWriter, isHead, trailers } = this;
    const { isBodiless, length } = this.head!;
    if (!isHeadSent) this.sendHead(false);
    if (isHead || isBodiless) headWriter.endWithoutBody(isHead ? length : undefined);
    // The application has written less than it announced.
    else if (length) return void res.close();
    else if (isHeadSent || trailers) headWriter.trailers(trailers, isHeadSent);
    else headWriter.endWithoutBody(0);
    this.finish();
    // The response asks the client to close the connection.
    const close = () => {
      if (!this.closing) return;
      clearTimeout(this.closing);
      this.closing = undefined;
      res.close();
    };
    this.closing = setTimeout(close, CLOSE_PATIENCE_MS);
    if (this.ending.isReceiving) this.ending.whenReceived(() => setImmediate(close));
  }

  /**
   * Whether the response may be completed now. If not, it is completed later.
   *
   * As long as a response is incomplete, uWebSockets.js closes the connection when it parses a further request. Otherwise it
   * would serve the bytes that follow in what it has read, even if the connection is about to be closed.
   */
  private mayEnd(): boolean {
    // A connection that is closed while a body arrives is reset, and the client may never read the response.
    const waits = this.isLast || (this.head!.isLast && this.request.framing !== 'none');
    if (!waits || this.lastMay === 'go') return true;
    if (this.lastMay === 'unknown') {
      this.lastMay = 'wait';
      setImmediate(() => this.endLast());
    }
    return false;
  }

  /** What had arrived together is read. A client that still sends its body might never read a response that closes. */
  private endLast(): void {
    const go = () => {
      clearTimeout(timer);
      this.lastMay = 'go';
      if (!this.isBehind) this.catchUp();
    };
    let timer: NodeJS.Timeout | undefined;
    if (this.isOver || !this.isEarly || !this.isHeadSent || this.head!.length === undefined) return go();
    timer = setTimeout(go, LINGER_MS);
    this.ending.whenReceived(() => setImmediate(go));
  }

  /** Stops reading from a connection that uWebSockets.js does not close itself; it does so 10 s after the response. */
  private beforeEnd(): void {
    this.ending.beforeEnd();
    if (this.isLast && !this.request.isFlagged) this.res.pause();
  }

  private keep(data: Buffer): void {
    this.waiting.push(data);
    this.waitingBytes += data.length;
  }

  /** Tells the budget how much waits. It may have the connection closed. */
  private count(): void {
    const bytes = this.isOver ? 0 : this.waitingBytes + this.keptBytes;
    if (bytes > 0) this.unread ??= new CountedBytes(this.outgoing(), () => this.destroy());
    this.unread?.set(bytes);
  }

  private fallBehind(): void {
    this.isBehind = true;
    if (this.isWatching) return;
    this.isWatching = true;
    this.res.onWritable(() => {
      this.catchUp();
      return true;
    });
  }

  private catchUp(): void {
    if (this.isOver) return;
    this.isBehind = false;
    const waiting = this.waiting.splice(0);
    this.waitingBytes = 0;
    this.keptBytes = 0;
    this.res.cork(() => {
      for (const [index, data] of waiting.entries()) {
        if (this.isOver) return;
        if (this.isBehind || this.waiting.length > 0) {
          for (const rest of waiting.slice(index)) this.keep(rest);
          return;
        }
        this.send(data);
      }
      if (this.isEnding && !this.isBehind && this.waiting.length === 0 && !this.isOver) this.complete();
    });
    this.count();
    // An application that has written the whole body waits for `drain` too, and ends the response then.
    if (!this.isBehind && this.waiting.length === 0) this.caughtUp();
  }

  private caughtUp(): void {
    for (const written of this.callbacks.splice(0)) process.nextTick(written);
    this.onDrain?.();
  }

  private finish(): void {
    if (this.isOver) return;
    this.ending.beforeEnd();
    this.isOver = true;
    this.isBehind = false;
    this.waiting = [];
    this.unread?.set(0);
    for (const written of this.callbacks.splice(0)) process.nextTick(written);
    if (this.onOver) process.nextTick(this.onOver);
  }
}
