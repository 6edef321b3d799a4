import { setImmediate } from '../../base/clock.js';
import { CountedBytes, HeldBytes } from '../delivery/held-bytes.js';
import {
  type BodyCallback,
  type BodyStream,
  type CollectedResponse,
  connections,
  type FrameReceiver,
  type HttpExchange,
  type ResponseHeaders,
  statusLine,
  type UpgradeExchange,
  wrongVersion,
} from '../http/exchange.js';
import type { ExchangeHost } from '../http/guarded-requests.js';
import { comesThroughProxy, endsConnection, type KeepAlive } from '../http/keep-alive.js';
import type { EngineRequest } from '../http/request.js';
import type { HttpResponse, us_socket_context_t } from './app.js';
import { BodyCollector } from './body-collector.js';
import { corkHolder } from './cork-holder.js';
import { writeHeaders, writeResponse } from './response.js';

/** uWebSockets.js copies the own properties of this onto the WebSocket itself. */
export interface UwsSocketData {
  receiver: FrameReceiver;
}

/** Of other methods, no body is read. */
const HAS_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** A request on this worker's own port. */
export class UwsHttpExchange implements HttpExchange {
  finished = false;
  onAborted: (() => void) | undefined;
  onAnswerNow: (() => void) | undefined;
  onComplete: (() => void) | undefined;
  middlewareResponse: CollectedResponse | undefined;
  private body: BodyCollector | undefined;
  private isComplete = false;
  /** The part of the response that the client has not read. */
  private readonly unread: CountedBytes;
  private readonly keepAlive: KeepAlive;
  /** Continues a streamed response. */
  private wake: (() => void) | undefined;

  /**
   * Create it in the request's handler, before anything asynchronous.
   * @param maxBody in bytes
   */
  constructor(
    protected readonly res: HttpResponse,
    readonly request: EngineRequest,
    maxBody: number,
    { settings, incoming = new HeldBytes(), outgoing = new HeldBytes() }: ExchangeHost,
  ) {
    connections.waiting++;
    this.keepAlive = settings.keepAlive;
    this.unread = new CountedBytes(outgoing, () => this.cut());
    if (HAS_BODY.has(request.method)) this.body = new BodyCollector(res, request, maxBody, incoming);
    res.onAborted(() => {
      const wasFinished = this.finished;
      this.finished = true;
      this.complete();
      if (wasFinished) return;
      this.body?.fail('aborted');
      this.onAborted?.();
    });
    // A response would not keep uWebSockets.js from parsing the bytes that follow.
    if (isAmbiguous(request)) this.destroy();
    else if (!isWellFormed(request)) this.send(400, {}, 'Bad Request');
  }

  readBody(done: BodyCallback): void {
    this.body?.whenDone(done);
  }

  send(status: number, headers: ResponseHeaders, body: string | Uint8Array): void {
    if (this.finished) return;
    this.finished = true;
    const isRequestWhole = this.body?.isWhole ?? true;
    this.body?.giveUp();
    const { method, headers: asked } = this.request;
    const isLast = isConnectionsLast(this.request);
    const isFlagged = asked.connection === 'close';
    const { endsConnection } = this;
    const mode = { isHead: method === 'HEAD', isFlagged, isLast, endsConnection, isRequestWhole };
    const write = () => {
      if (this.isComplete) return;
      const kept = writeResponse(this.res, { status, headers, body }, mode, () => this.complete());
      // If it is too much, the connection ends at once.
      if (!this.isComplete) this.unread.set(kept);
    };
    // Until the response is sent, uWebSockets.js closes a connection on which more bytes arrive.
    if (isLast) setImmediate(write);
    else write();
  }

  stream(status: number, headers: ResponseHeaders): BodyStream {
    this.finished = true;
    this.body?.giveUp();
    const { res } = this;
    if (!this.isComplete) {
      res.cork(() => {
        res.writeStatus(statusLine(status));
        writeHeaders(res, headers);
        // The proxy closes it.
        if (this.endsConnection) res.writeHeader('Connection', 'close');
      });
      res.onWritable(() => {
        this.wake?.();
        return true;
      });
    }
    return {
      write: async (part) => {
        if (this.isComplete) return false;
        let isRead = false;
        res.cork(() => {
          isRead = res.write(part);
        });
        if (!isRead && !this.isComplete) {
          const woken = new Promise<void>((resolve) => {
            this.wake = resolve;
          });
          this.unread.set(part.length);
          await woken;
        }
        this.unread.set(0);
        return !this.isComplete;
      },
      end: () => {
        if (this.isComplete) return;
        res.cork(() => res.end());
        this.complete();
      },
      abort: () => this.cut(),
    };
  }

  destroy(): void {
    if (this.finished) return;
    this.finished = true;
    this.body?.giveUp();
    this.complete();
    this.res.close();
  }

  /** Ends the connection before the response is complete. */
  private cut(): void {
    if (!this.isComplete) this.res.close();
  }

  private get endsConnection(): boolean {
    return endsConnection(this.keepAlive, comesThroughProxy(this.request.headers));
  }

  /** The request no longer waits for its response. */
  protected complete(): void {
    if (this.isComplete) return;
    this.isComplete = true;
    connections.waiting--;
    this.unread.set(0);
    this.wake?.();
    this.onComplete?.();
  }
}

/** A request for a WebSocket on this worker's own port. */
export class UwsUpgradeExchange extends UwsHttpExchange implements UpgradeExchange {
  private isLate = false;

  private constructor(
    res: HttpResponse,
    request: EngineRequest,
    private readonly context: us_socket_context_t,
    host: ExchangeHost,
  ) {
    super(res, request, 0, host);
  }

  /** Creates the exchange of a request and handles it. An upgrade after `handle` has returned is late. */
  static handle(
    res: HttpResponse,
    request: EngineRequest,
    context: us_socket_context_t,
    host: ExchangeHost,
    handle: (exchange: UwsUpgradeExchange) => void,
  ): void {
    const exchange = new UwsUpgradeExchange(res, request, context, host);
    if (exchange.finished) return;
    // Source: RFC 6455, sections 4.2.1 and 4.2.2.
    if (request.headers['sec-websocket-version'] !== '13') {
      return exchange.send(...wrongVersion);
    }
    if (!/\bupgrade\b/i.test(request.headers.connection ?? '')) {
      return exchange.send(400, {}, 'The header "Connection: Upgrade" is missing.');
    }
    handle(exchange);
    exchange.isLate = true;
  }

  accept(headers: ResponseHeaders, receiver: FrameReceiver): void {
    if (this.finished) return;
    this.finished = true;
    this.complete();
    const upgrade = () => this.upgrade(headers, receiver);
    if (this.isLate) corkHolder.run(upgrade);
    else upgrade();
  }

  private upgrade(headers: ResponseHeaders, receiver: FrameReceiver): void {
    const from = this.request.headers;
    if (Object.keys(headers).length > 0) {
      this.res.writeStatus(statusLine(101));
      writeHeaders(this.res, headers);
    }
    this.res.upgrade<UwsSocketData>(
      { receiver },
      from['sec-websocket-key'] ?? '',
      from['sec-websocket-protocol'] ?? '',
      from['sec-websocket-extensions'] ?? '',
      this.context,
    );
  }
}

/** Source: RFC 9110, section 9.1, and RFC 9112, section 3.2. */
function isWellFormed({ method, headers }: EngineRequest): boolean {
  return /^[A-Z]+$/.test(method) && headers.host !== undefined;
}

/**
 * Whether the bytes that follow on the connection cannot be trusted: uWebSockets.js parses the trailers of a chunked
 * body as the next request.
 */
function isConnectionsLast(request: EngineRequest): boolean {
  return request.headers['transfer-encoding'] !== undefined || !isWellFormed(request);
}

/**
 * Whether a proxy and uWebSockets.js could disagree on the end of the body, and parse a part of it as a request. Of
 * several lengths, uWebSockets.js uses the first one, and it treats any transfer coding as chunked. Source: RFC 9112,
 * section 6.3.
 */
function isAmbiguous({ headers }: EngineRequest): boolean {
  const coding = headers['transfer-encoding'];
  return !!headers['content-length']?.includes(',') || (coding !== undefined && coding.toLowerCase() !== 'chunked');
}
