import type { HttpResponse, us_socket_context_t } from 'uWebSockets.js';
import {
  type BodyCallback,
  type CollectedResponse,
  type FrameReceiver,
  type HttpExchange,
  type ResponseHeaders,
  statusLine,
  type UpgradeExchange,
} from '../http/exchange.js';
import type { EngineRequest } from '../http/request.js';
import { BodyCollector } from './body-collector.js';
import { corkHolder } from './cork-holder.js';
import { connections, writeHeaders, writeResponse } from './response.js';

/** uWebSockets.js copies the own properties of this onto the WebSocket itself. */
export interface SocketData {
  receiver: FrameReceiver;
}

/** A request on this worker's own port. */
export class UwsHttpExchange implements HttpExchange {
  finished = false;
  onAborted: (() => void) | undefined;
  onAnswerNow: (() => void) | undefined;
  middlewareResponse: CollectedResponse | undefined;
  private body: BodyCollector | undefined;
  private isComplete = false;

  /** To be made in the request's handler, before anything asynchronous. `maxBody` is in bytes. */
  constructor(
    protected readonly res: HttpResponse,
    readonly request: EngineRequest,
    maxBody: number,
  ) {
    connections.waiting++;
    if (request.method === 'POST') this.body = new BodyCollector(res, request, maxBody);
    res.onAborted(() => {
      const wasFinished = this.finished;
      this.finished = true;
      this.complete();
      if (wasFinished) return;
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
    this.finished = true;
    this.body?.giveUp();
    const { method, headers: asked } = this.request;
    const mode = { isHead: method === 'HEAD', closes: asked.connection === 'close' };
    writeResponse(this.res, { status, headers, body }, mode, () => this.complete());
  }

  destroy(): void {
    if (this.finished) return;
    this.finished = true;
    this.complete();
    this.res.close();
  }

  /** The request is no longer one that waits for its answer. */
  protected complete(): void {
    if (this.isComplete) return;
    this.isComplete = true;
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
    if (exchange.finished) return;
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
    this.res.upgrade<SocketData>(
      { receiver },
      from['sec-websocket-key'] ?? '',
      from['sec-websocket-protocol'] ?? '',
      from['sec-websocket-extensions'] ?? '',
      this.context,
    );
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
