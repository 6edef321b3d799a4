import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpResponse } from '../../sockets.js';
import { PortableRequest } from './request.js';
import { PortableResponse } from './response.js';

/** Handles a request that is next on its connection. */
export type Serve = (response: PortableResponse, request: PortableRequest) => void;

/** How many requests may wait on a connection for the response to an earlier one. */
const MAX_WAITING = 16;
/** A request waits if responses with more bytes than this have not been written yet. */
const MAX_UNWRITTEN_BYTES = 262_144;
/** A client that sends less of a body than this in this time is disconnected. */
const MIN_BODY_BYTES = 10_000;
const BODY_MS = 10_000;

/**
 * The requests of a connection. node:http passes on each request as soon as it has read it. Here, a request waits for the
 * response to the one before, and for a client that does not read. After the last response, none is served.
 */
export class HttpConnection {
  private isBusy = false;
  /** Whether the last response is complete. */
  private isOver = false;
  private waiting: [IncomingMessage, ServerResponse][] = [];
  private message: IncomingMessage | undefined;
  private response: PortableResponse | undefined;
  /** Responses that node:http may still hold, because the client does not read. */
  private unwritten: PortableResponse[] = [];
  private bytesRead = 0;
  private progressAt = 0;

  constructor(
    private readonly socket: Socket,
    private readonly serve: Serve,
  ) {}

  /** Whether a request has no response yet. */
  get isServing(): boolean {
    return this.isBusy;
  }

  /** For a filter, which closes connections that are too many. */
  get closable(): HttpResponse {
    // Nothing reports the end of a connection without a request here.
    return { close: () => this.socket.destroy(), onAborted: () => {} } as unknown as HttpResponse;
  }

  onRequest(message: IncomingMessage, response: ServerResponse): void {
    if (this.isOver || this.socket.destroyed) ignoreRest(this.socket);
    else if (!this.isBusy && this.unwrittenBytes() <= MAX_UNWRITTEN_BYTES) this.begin(message, response);
    else if (this.waiting.push([message, response]) > MAX_WAITING) this.response!.close();
    else if (!this.isBusy) this.awaitReader();
  }

  /**
   * Disconnects a client that sends the body of a request too slowly.
   * @param now in ms
   */
  checkBody(now: number): void {
    const { message, socket } = this;
    const isReading = message !== undefined && !message.complete && message.readableFlowing;
    if (isReading && this.progressAt > 0 && socket.bytesRead - this.bytesRead < MIN_BODY_BYTES) {
      if (now - this.progressAt >= BODY_MS) this.response!.close();
      return;
    }
    this.progressAt = isReading ? now : 0;
    this.bytesRead = socket.bytesRead;
  }

  private begin(message: IncomingMessage, response: ServerResponse): void {
    this.isBusy = true;
    this.message = message;
    this.response = new PortableResponse(message, this.socket, response, this.onEnd);
    this.unwritten.push(this.response);
    this.serve(this.response, new PortableRequest(message));
  }

  private unwrittenBytes(): number {
    this.unwritten = this.unwritten.filter(({ isWritten }) => !isWritten);
    return this.unwritten.reduce((bytes, response) => bytes + response.getWriteOffset(), 0);
  }

  private awaitReader(): void {
    this.isBusy = true;
    this.response!.whenWritten(this.next);
  }

  private readonly onEnd = (isLast: boolean): void => {
    // A connection that is about to end stays busy.
    this.isOver ||= isLast;
    if (isLast) return;
    if (this.waiting.length === 0) this.isBusy = false;
    else setImmediate(this.next);
  };

  private readonly next = (): void => {
    if (this.unwrittenBytes() > MAX_UNWRITTEN_BYTES) return this.awaitReader();
    const first = this.waiting.shift();
    if (first && !this.socket.destroyed) this.begin(...first);
  };
}

/**
 * node:http goes on with the requests that it has read already, and makes objects for each of them.
 * The parser's callback is not documented, but the same from Node 20 to 26. Without it, only CPU time is lost.
 */
function ignoreRest(socket: Socket): void {
  const { parser } = socket as Socket & { parser?: { onIncoming?: unknown } };
  if (typeof parser?.onIncoming === 'function') parser.onIncoming = () => 0;
}
