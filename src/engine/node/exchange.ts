import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { nextTick } from '../../base/clock.js';
import { CountedBytes, HeldBytes, Holder } from '../delivery/held-bytes.js';
import {
  type BodyCallback,
  type BodyError,
  type BodyStream,
  type CollectedResponse,
  connections,
  type HttpExchange,
  type ResponseHeaders,
} from '../http/exchange.js';
import type { ExchangeHost } from '../http/guarded-requests.js';
import type { EngineRequest } from '../http/request.js';
import { PartsOfBody } from '../incoming/parts-of-body.js';
import type { Progress } from './progress.js';

/** A request that node:http has read, and its response. */
export class NodeHttpExchange implements HttpExchange {
  finished = false;
  onAborted: (() => void) | undefined;
  onAnswerNow: (() => void) | undefined;
  onComplete: (() => void) | undefined;
  middlewareResponse: CollectedResponse | undefined;
  private isComplete = false;
  private body: Body | undefined;
  /** The response, until the client has read it. */
  private unread: CountedBytes | undefined = undefined;
  /** Continues a streamed response. */
  private wake: (() => void) | undefined = undefined;

  /**
   * @param made by node:http, or undefined if the subclass makes it once it is used
   * @param maxBody in bytes
   * @param progress finds clients that neither send nor read
   */
  constructor(
    readonly request: EngineRequest,
    protected readonly message: IncomingMessage,
    private made: ServerResponse | undefined,
    private readonly maxBody: number,
    private readonly host: ExchangeHost,
    private readonly progress: Progress,
  ) {
    connections.waiting++;
    if (made) this.watch(made);
  }

  protected make(): ServerResponse {
    throw new Error('this response has been made by node:http');
  }

  private get response(): ServerResponse {
    if (!this.made) {
      this.made = this.make();
      this.watch(this.made);
    }
    return this.made;
  }

  private watch(response: ServerResponse): void {
    response.once('close', () => this.gone());
  }

  /** Identifies the connection: node:http reads on before the response. */
  get connection(): object {
    return this.message.socket;
  }

  readBody(done: BodyCallback): void {
    const { message, maxBody } = this;
    const { 'content-length': length, 'transfer-encoding': coding } = message.headers;
    const fail = (error: BodyError) => done(error, Buffer.alloc(0));
    // HTTP/2 needs neither.
    if (!Number(length) && !coding && message.httpVersionMajor === 1) return fail('length required');
    if (Number(length) > maxBody) return fail('too large');
    const stopWatching = this.progress.watchBody(message);
    this.body = new Body(message, maxBody, this.host.incoming ?? new HeldBytes(), (error, bytes) => {
      stopWatching();
      if (!this.finished) done(error, bytes);
    });
    message.once('end', () => this.body!.end());
  }

  send(status: number, headers: ResponseHeaders, body: string | Uint8Array): void {
    if (this.finished) return;
    this.finished = true;
    const { response } = this;
    // Without it, node:http sends the body in chunks. A response without a body of its own has none.
    const hasBody = status !== 204 && status !== 304;
    this.writeHead(status, hasBody ? withLength(headers, Buffer.byteLength(body)) : headers);
    response.end(body);
    this.whileUnread(body.length);
    // What the client still sends is dropped, so that the next request on the connection is found.
    this.message.resume();
  }

  stream(status: number, headers: ResponseHeaders): BodyStream {
    this.finished = true;
    const { response } = this;
    this.writeHead(status, headers);
    response.on('drain', () => this.wake?.());
    return {
      write: async (part) => {
        if (this.isComplete) return false;
        if (!response.write(part)) {
          this.whileUnread(part.length);
          await new Promise<void>((resolve) => {
            this.wake = resolve;
          });
          this.unread?.set(0);
        }
        return !this.isComplete;
      },
      end: () => void response.end(),
      abort: () => this.cut(),
    };
  }

  destroy(): void {
    if (this.finished) return;
    this.finished = true;
    this.cut();
  }

  private writeHead(status: number, headers: ResponseHeaders): void {
    const { response, host } = this;
    if (connections.areEnding || host.settings.keepAlive === 'off') response.shouldKeepAlive = false;
    response.writeHead(status, headers);
  }

  /** Counts the bytes that the client does not read at once, and ends the connection if it reads none for long. */
  private whileUnread(bytes: number): void {
    const { response, message, host } = this;
    // node:http corks the socket until the next tick.
    nextTick(() => {
      if (this.isComplete || response.writableFinished || response.writableLength === 0) return;
      if (!this.unread) {
        this.unread = new CountedBytes(host.outgoing ?? new HeldBytes(), () => this.cut());
        this.progress.watchReader(response, message.socket);
      }
      this.unread.set(bytes);
    });
  }

  /** Ends the connection before the response is complete. */
  private cut(): void {
    this.message.socket.destroy();
    this.gone();
  }

  /** The response is complete, or the client is gone. */
  protected gone(): void {
    if (!this.complete()) return;
    // Even if nobody wants it any more: otherwise, its bytes would be counted for ever.
    this.body?.end('aborted');
    if (this.finished) return;
    this.finished = true;
    this.onAborted?.();
  }

  /** The request no longer waits for its response. Returns false if it did not before. */
  protected complete(): boolean {
    if (this.isComplete) return false;
    this.isComplete = true;
    connections.waiting--;
    this.unread?.set(0);
    this.wake?.();
    this.onComplete?.();
    return true;
  }

  protected get socket(): Socket {
    return this.message.socket;
  }
}

/** The application may have written a length of its own, whatever the case of its name. */
function withLength(headers: ResponseHeaders, length: number): ResponseHeaders {
  const others = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-length');
  return { ...Object.fromEntries(others), 'Content-Length': String(length) };
}

/** The body of a request. */
class Body extends Holder {
  private readonly parts = new PartsOfBody();
  private received = 0;
  private isOver = false;

  constructor(
    message: IncomingMessage,
    maxBody: number,
    incoming: HeldBytes,
    private readonly done: BodyCallback,
  ) {
    super(incoming);
    message.on('data', (part: Buffer) => {
      if (this.isOver) return;
      this.received += part.length;
      if (this.received > maxBody) return this.end('too large');
      this.parts.add(part);
      if (this.parts.size > this.bufferedAmount) this.hold(this.parts.size - this.bufferedAmount);
    });
  }

  onOverflow(): void {
    this.end('overloaded');
  }

  end(error?: BodyError): void {
    if (this.isOver) return;
    this.isOver = true;
    this.letGo();
    const body = this.parts.take();
    this.done(error, error ? Buffer.alloc(0) : body);
  }
}
