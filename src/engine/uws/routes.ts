import type { HttpRequest, HttpResponse, TemplatedApp, WebSocket } from '../../sockets.js';
import type { Closing } from '../delivery/closing.js';
import type { SlowClients } from '../delivery/slow-clients.js';
import type { FrameReceiver, HttpExchange, UpgradeExchange } from '../http/exchange.js';
import { type HttpHost, handleRequest } from '../http/guarded-requests.js';
import { type EngineRequest, readRequest } from '../http/request.js';
import type { ConnectionGuard } from '../limits/connection-guard.js';
import type { FrameGuard } from '../limits/frame-guard.js';
import { type SocketData, UwsHttpExchange, UwsUpgradeExchange } from './uws-exchange.js';

/** Values of uWebSockets.js's `compression` option. Its typings declare them as types only. */
const DISABLED = 0;
const SHARED_COMPRESSOR = 1;

/** The parts that all WebSocket routes share. */
export interface RouteHost extends HttpHost {
  readonly slow: SlowClients;
  readonly closing: Closing;
  readonly frameGuard: FrameGuard;
}

/** Creates the engine's request from that of uWebSockets.js. Returns undefined if the connection must be closed. */
export type RequestReader = (res: HttpResponse, req: HttpRequest) => EngineRequest | undefined;

export interface HttpRoute {
  /** A pattern of uWebSockets.js. */
  pattern: string;
  /** Whether the app is an SSLApp. */
  secure: boolean;
  /** Maximum size of a POST body, in bytes. @default 0 */
  maxBody?: number;
  /** Whether the route answers requests with any `Host` header. @default false */
  isForAnyHost?: boolean;
  /** Whether only GET and HEAD are answered. Requests for a WebSocket are left to other routes. @default false */
  isReadOnly?: boolean;
  /** By default, the request as uWebSockets.js has read it. */
  readRequest?: RequestReader | undefined;
  handle(exchange: HttpExchange): unknown;
}

/** Adds a route for HTTP requests. All HTTP requests arrive through such routes. */
export function routeHttp(app: TemplatedApp, host: HttpHost, route: HttpRoute): void {
  const { pattern, secure, maxBody = 0, isReadOnly = false, isForAnyHost = false, handle } = route;
  const { readRequest: read = readerOf(host, secure) } = route;
  const onRequest = (res: HttpResponse, req: HttpRequest) => {
    if (isReadOnly && req.getHeader('upgrade') !== '') return void req.setYield(true);
    const request = read(res, req);
    if (!request) return void res.close();
    const exchange = new UwsHttpExchange(res, request, maxBody, host);
    if (!exchange.finished) handleRequest(exchange, host, handle, isForAnyHost);
  };
  if (isReadOnly) app.get(pattern, onRequest).head(pattern, onRequest);
  else app.any(pattern, onRequest);
}

export interface WebSocketRoute {
  pattern: string;
  secure: boolean;
  /** Maximum size of a message, in bytes. uWebSockets.js resets the connection on larger ones. */
  maxPayload: number;
  /** Whether messages may be compressed. */
  compresses: boolean;
  /** In seconds; 0 is no limit. */
  idleTimeout: number;
  /** By default, the request as uWebSockets.js has read it. */
  readRequest?: RequestReader | undefined;
  onUpgrade(exchange: UpgradeExchange): void;
}

/** Adds a route for WebSockets. All WebSockets arrive through such routes. */
export function routeWebSockets(app: TemplatedApp, host: RouteHost, route: WebSocketRoute): void {
  const { slow, closing, frameGuard, settings, requestGuard } = host;
  // The limits for one address count WebSockets as clients, not as waiting requests.
  const upgradeHost: HttpHost = {
    settings,
    requestGuard,
    addresses: undefined,
    onFlood: (request) => host.onFlood?.(request),
  };
  const { readRequest: read = readerOf(host, route.secure), onUpgrade } = route;
  app.ws<SocketData>(route.pattern, {
    maxPayloadLength: route.maxPayload,
    maxBackpressure: slow.limit,
    compression: route.compresses ? SHARED_COMPRESSOR : DISABLED,
    idleTimeout: route.idleTimeout,
    sendPingsAutomatically: false,
    upgrade: (res, req, context) => {
      const request = read(res, req);
      if (!request) return void res.close();
      UwsUpgradeExchange.handle(res, request, context, host, (exchange) =>
        handleRequest(exchange, upgradeHost, onUpgrade),
      );
    },
    open: (ws) => receiverOf(ws).onOpen(ws),
    message: (ws, message, isBinary) => frameGuard.message(receiverOf(ws), message, isBinary),
    ping: (ws) => onControlFrame(receiverOf(ws)),
    pong: (ws) => {
      onControlFrame(receiverOf(ws));
      closing.ponged(ws);
    },
    drain: (ws) => {
      closing.drained(ws);
      receiverOf(ws).onDrain();
    },
    dropped: (ws) => slow.onDropped(ws, receiverOf(ws)),
    close: (ws, code, reason) => {
      webSocketClosed(app);
      closing.closed(ws);
      slow.muted.delete(ws);
      frameGuard.closed(receiverOf(ws), code, Buffer.from(reason).toString());
    },
  });

  function onControlFrame(receiver: FrameReceiver): void {
    receiver.onControlFrame?.();
    frameGuard.control(receiver);
  }
}

function readerOf({ settings: { trustProxy } }: HttpHost, secure: boolean): RequestReader {
  return (res, req) => readRequest(res, req, secure, trustProxy);
}

const guards = new WeakMap<TemplatedApp, ConnectionGuard>();

/** Counts the connections of an app, and closes new ones beyond the limit. The first guard of an app counts. */
export function watchConnections(app: TemplatedApp, guard: ConnectionGuard): void {
  if (guards.has(app)) return;
  guards.set(app, guard);
  const onConnection = (res: HttpResponse, change: number): void => {
    if (change < 0) return guard.closed();
    if (guard.opened()) return;
    // A filter that reports clients which leave without a request must not report this one.
    res.onAborted(() => {});
    res.close();
  };
  app.filter(onConnection);
}

/** Counts the end of a WebSocket, which uWebSockets.js does not report to filters. */
export function webSocketClosed(app: TemplatedApp): void {
  guards.get(app)?.closed();
}

/** The receiver of a WebSocket. uWebSockets.js keeps it as a property of the WebSocket, which saves a native call. */
function receiverOf(ws: WebSocket<SocketData>): FrameReceiver {
  return (ws as unknown as SocketData).receiver;
}
