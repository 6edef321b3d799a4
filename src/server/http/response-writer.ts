import type { HttpResponse } from 'uWebSockets.js';
import { parseHead, type ResponseHead } from './response-head.js';

/** Called once the data is sent; with an error if the client has disconnected. */
export type Written = (error?: Error | null) => void;

/** Longer bodies are not sent in one piece: uWebSockets.js would buffer the part that a slow client does not read. */
const MAX_WHOLE_BYTES = 65_536;

/**
 * Writes the response of a node:http ServerResponse to uWebSockets.js. A body with a known length is sent as it is, any
 * other body in chunks.
 */
export class ResponseWriter {
  /** Called when a slow client has read the waiting bytes. */
  onDrain: (() => void) | undefined;
  /** True once the response is complete or the client has disconnected. Nothing can be written then. */
  isOver = false;
  /** Whether written bytes still wait for the client. */
  isBehind = false;
  private head: ResponseHead | undefined;
  private isHeadSent = false;
  /** The part of a body with a known length that a slow client has not read. */
  private waiting: Buffer[] = [];
  private callbacks: Written[] = [];
  private isEnding = false;
  private isWatching = false;

  /**
   * @param isHead whether the request was a HEAD, whose response has no body
   * @param clientCloses whether the client has asked to close the connection
   */
  constructor(
    private readonly res: HttpResponse,
    private readonly isHead: boolean,
    private readonly clientCloses: boolean,
  ) {}

  get hasHead(): boolean {
    return this.head !== undefined;
  }

  /** Sets the head. It is sent with the first part of the body. */
  setHead(text: string): void {
    this.head = parseHead(text);
  }

  /** Writes a part of the body. Returns false when the client is behind. */
  write(data: Buffer, written?: Written): boolean {
    if (!this.isOver && this.head) {
      if (this.isBehind && this.head.length !== undefined) this.waiting.push(data);
      else this.res.cork(() => this.send(data));
    }
    if (this.isBehind && written) this.callbacks.push(written);
    else if (written) process.nextTick(written);
    return !this.isBehind;
  }

  /** The application has ended the response. */
  end(): void {
    if (this.isOver || !this.head) return;
    if (this.isBehind) this.isEnding = true;
    else this.res.cork(() => this.complete());
  }

  /** The client has disconnected. */
  abort(): void {
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
    const { length, isLast } = head;
    if (this.isHead || head.isBodiless) return;
    if (!this.isHeadSent && data.length === length && length <= MAX_WHOLE_BYTES) {
      this.sendHead(isLast);
      this.finish();
      this.res.end(data, isLast);
      return;
    }
    const bytes = data.length === 0 && !this.isHeadSent ? head.opening : data;
    if (bytes.length === 0) return;
    if (!this.isHeadSent) this.sendHead();
    if (length !== undefined) this.sendPart(bytes, length);
    else if (!this.res.write(bytes)) this.fallBehind();
  }

  /** Sends a part of a body with a known length. uWebSockets.js accepts only the bytes that it can write at once. */
  private sendPart(data: Buffer, length: number): void {
    const before = this.res.getWriteOffset();
    const [isSent, isDone] = this.res.tryEnd(data, length);
    if (isDone) return this.finish();
    if (isSent) return;
    const taken = this.res.getWriteOffset() - before;
    if (taken < data.length) this.waiting.unshift(data.subarray(taken));
    this.fallBehind();
  }

  /** @param isWhole whether the response ends in the same step. Then uWebSockets.js writes `Connection: close` itself */
  private sendHead(isWhole = false): void {
    this.isHeadSent = true;
    const { status, headers } = this.head!;
    const saysClose = isWhole && !this.clientCloses;
    this.res.writeStatus(bytesOf(status));
    for (let index = 0; index < headers.length; index += 2) {
      if (saysClose && headers[index]!.toLowerCase() === 'connection') continue;
      this.res.writeHeader(headers[index]!, bytesOf(headers[index + 1]!));
    }
  }

  private complete(): void {
    const { res, isHead } = this;
    const { isBodiless, isLast, length } = this.head!;
    const hadHead = this.isHeadSent;
    if (!hadHead) this.sendHead(isLast);
    this.finish();
    if (isHead || isBodiless) {
      // When it is told to close the connection, uWebSockets.js writes a length itself. It knows what the client has asked.
      if (isLast && !this.clientCloses) res.endWithoutBody(length ?? 0, true);
      else if (isHead && length !== undefined) res.writeHeader('Content-Length', String(length)).endWithoutBody();
      else res.endWithoutBody();
    } else if (length !== undefined && (hadHead || length > 0)) {
      // The application has written less than it announced.
      res.close();
    } else {
      res.end('', isLast);
    }
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
    this.res.cork(() => {
      for (const [index, data] of waiting.entries()) {
        if (this.isOver) return;
        if (this.isBehind) return void this.waiting.push(...waiting.slice(index));
        this.sendPart(data, this.head!.length!);
      }
      if (this.isEnding && !this.isBehind && !this.isOver) this.complete();
    });
    if (!this.isBehind && !this.isOver) this.caughtUp();
  }

  private caughtUp(): void {
    for (const written of this.callbacks.splice(0)) process.nextTick(written);
    this.onDrain?.();
  }

  private finish(): void {
    this.isOver = true;
    this.waiting = [];
    for (const written of this.callbacks.splice(0)) process.nextTick(written);
  }
}

/** node:http writes heads in Latin-1, but uWebSockets.js encodes strings as UTF-8. */
function bytesOf(text: string): string | Buffer {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text, 'latin1');
}
