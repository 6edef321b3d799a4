import type { HttpResponse, us_socket_context_t, WebSocket } from 'uWebSockets.js';
import {
  type BodyCallback,
  type BodyError,
  type FrameReceiver,
  type HttpExchange,
  type ResponseHeaders,
  statusLine,
  type UpgradeExchange,
  type WebSocketConnection,
} from '../http/exchange.js';
import type { MiddlewareResponse } from '../http/middleware.js';
import type { EngineRequest } from '../http/request.js';

/** Values of uWebSockets.js's `compression` option. Its typings declare them as types only. */
export const DISABLED = 0;
export const SHARED_COMPRESSOR = 1;

/** uWebSockets.js copies the own properties of this onto the WebSocket itself. */
export interface SocketData {
  receiver: FrameReceiver;
}

/** The HTTP connections of this process. */
export const connections = {
  /** How many requests have no response yet. */
  waiting: 0,
  /** Whether each response is its connection's last, so that clients make new ones, to another process. */
  areEnding: false,
};

/** Ends a response. Where the request was a HEAD, the body is left out. */
export function endResponse(res: HttpResponse, isHead: boolean, body: string | Uint8Array): void {
  if (!isHead) {
    res.end(body, connections.areEnding);
  } else if (connections.areEnding) {
    // With a length here uWebSockets.js takes the response for unfinished: no other request is served on the connection,
    // and the process ends where nobody would learn that the client has gone.
    res.onAborted(() => {});
    res.endWithoutBody(Buffer.byteLength(body), true);
  } else {
    res.writeHeader('Content-Length', String(Buffer.byteLength(body))).endWithoutBody();
  }
}

/** A request on this worker's own port. */
export class UwsHttpExchange implements HttpExchange {
  finished = false;
  onAborted: (() => void) | undefined;
  onAnswerNow: (() => void) | undefined;
  middlewareResponse: MiddlewareResponse | undefined;
  private body: BodyCollector | undefined;

  /** To be made in the request's handler, before anything asynchronous. `maxBody` is in bytes. */
  constructor(
    protected readonly res: HttpResponse,
    readonly request: EngineRequest,
    maxBody: number,
  ) {
    connections.waiting++;
    if (request.method === 'POST') this.body = new BodyCollector(res, request, maxBody);
    res.onAborted(() => {
      if (this.finished) return;
      this.finish();
      this.body?.fail('aborted');
      this.onAborted?.();
    });
    // An answer would not stop uWebSockets.js from going on with what comes behind.
    if (isAmbiguous(request)) this.destroy();
  }

  readBody(done: BodyCallback): void {
    this.body?.whenDone(done);
  }

  send(status: number, headers: ResponseHeaders, body: string | Uint8Array): void {
    if (this.finished) return;
    this.finish();
    this.body?.giveUp();
    this.res.cork(() => {
      this.res.writeStatus(statusLine(status));
      writeHeaders(this.res, headers);
      // uWebSockets.js closes then, and does not say so: some clients would send their next request into the closing.
      if (this.request.headers.connection === 'close') this.res.writeHeader('Connection', 'close');
      endResponse(this.res, this.request.method === 'HEAD', body);
    });
  }

  destroy(): void {
    if (this.finished) return;
    this.finish();
    this.res.close();
  }

  protected finish(): void {
    this.finished = true;
    connections.waiting--;
  }
}

/** A request for a WebSocket on this worker's own port. */
export class UwsUpgradeExchange extends UwsHttpExchange implements UpgradeExchange {
  private isLate = false;

  private constructor(
    res: HttpResponse,
    request: EngineRequest,
    private readonly context: us_socket_context_t,
  ) {
    super(res, request, 0);
  }

  /** Makes the exchange of a request and has it handled: an upgrade after `handle` has returned is a late one. */
  static handle(
    res: HttpResponse,
    request: EngineRequest,
    context: us_socket_context_t,
    handle: (exchange: UwsUpgradeExchange) => void,
  ): void {
    const exchange = new UwsUpgradeExchange(res, request, context);
    handle(exchange);
    exchange.isLate = true;
  }

  accept(headers: ResponseHeaders, receiver: FrameReceiver): void {
    if (this.finished) return;
    this.finish();
    const from = this.request.headers;
    if (Object.keys(headers).length > 0) {
      this.res.cork(() => {
        this.res.writeStatus(statusLine(101));
        writeHeaders(this.res, headers);
      });
    }
    const upgrade = () =>
      this.res.upgrade<SocketData>(
        { receiver },
        from['sec-websocket-key'] ?? '',
        from['sec-websocket-protocol'] ?? '',
        from['sec-websocket-extensions'] ?? '',
        this.context,
      );
    // A late upgrade must not be corked: cork() would go on to take the socket for an HTTP one if the upgrade left it at
    // the same place in memory, and might close it. Within the cork of another socket it is not, and uWebSockets.js
    // does not complain on the standard error about what is uncorked.
    const [other] = this.isLate ? openSockets : [];
    if (other) other.cork(upgrade);
    else upgrade();
  }
}

/** Some WebSockets that are open: a few, so that there is one left when others close. */
const openSockets = new Set<WebSocket<SocketData>>();
const MAX_KNOWN_SOCKETS = 16;

/** To be called for each WebSocket that opens. */
export function noteOpen(ws: WebSocket<SocketData>): void {
  if (openSockets.size < MAX_KNOWN_SOCKETS) openSockets.add(ws);
}

/** To be called for each WebSocket that closes, before anything else. */
export function noteClosed(ws: WebSocket<SocketData>): void {
  openSockets.delete(ws);
}

/** The owner of a WebSocket. uWebSockets.js keeps it as a property of the WebSocket, which spares a native call. */
export function receiverOf(ws: WebSocket<SocketData>): FrameReceiver {
  return (ws as unknown as SocketData).receiver;
}

/** A uWebSockets.js WebSocket has all that a channel has. */
export function asConnection(ws: WebSocket<SocketData>): WebSocketConnection {
  return ws;
}

function writeHeaders(res: HttpResponse, headers: ResponseHeaders): void {
  for (const [name, value] of Object.entries(headers)) {
    // uWebSockets.js writes the length itself.
    if (name.toLowerCase() === 'content-length') continue;
    if (Array.isArray(value)) for (const one of value) res.writeHeader(name, one);
    else res.writeHeader(name, String(value));
  }
}

/**
 * Whether a proxy and uWebSockets.js could disagree on where the body ends, and take a part of it for a request: of
 * several lengths uWebSockets.js goes by the first, and it takes any transfer coding for chunks. Source: RFC 9112,
 * section 6.3.
 */
function isAmbiguous({ headers }: EngineRequest): boolean {
  const coding = headers['transfer-encoding'];
  return !!headers['content-length']?.includes(',') || (coding !== undefined && coding.toLowerCase() !== 'chunked');
}

/**
 * Collects a body from the moment the request is there, since its bytes do not wait for anybody. They are not held back by
 * `res.pause()`: what that restores is kept for all sockets together, and after a write that did not get through at once
 * it can leave a socket that nobody reads any more.
 */
class BodyCollector {
  private error: BodyError | undefined;
  private chunks: Buffer[] = [];
  private received = 0;
  private complete = false;
  private done: BodyCallback | undefined;

  constructor(res: HttpResponse, request: EngineRequest, maxBody: number) {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    const expected = Number(length);
    if (expected > maxBody) this.fail('too large');
    else if (expected || encoding) this.collect(res, expected || undefined, maxBody);
    else this.fail('length required');
  }

  /** `expected` is missing where the body comes in chunks. */
  private collect(res: HttpResponse, expected: number | undefined, maxBody: number): void {
    res.onData((chunk, isLast) => {
      if (this.error) return;
      this.received += chunk.byteLength;
      if (this.received > maxBody) return this.fail('too large');
      if (expected && (isLast ? this.received !== expected : this.received > expected)) {
        return this.fail('length mismatch');
      }
      // The chunk's memory is uWebSockets.js's own: a copy is what may be kept.
      this.chunks.push(Buffer.from(new Uint8Array(chunk)));
      if (isLast) this.finish();
    });
  }

  whenDone(done: BodyCallback): void {
    this.done = done;
    if (this.complete) this.tell();
  }

  /** Nobody will ask for it: what still comes is not kept. */
  giveUp(): void {
    this.error = 'aborted';
    this.chunks = [];
    this.done = undefined;
  }

  fail(error: BodyError): void {
    if (this.complete) return;
    this.error = error;
    this.chunks = [];
    this.finish();
  }

  private finish(): void {
    this.complete = true;
    if (this.done) this.tell();
  }

  private tell(): void {
    const { done, chunks } = this;
    this.done = undefined;
    this.chunks = [];
    done?.(this.error, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
  }
}
