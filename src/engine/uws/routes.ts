import type { HttpRequest, HttpResponse, TemplatedApp, WebSocket } from 'uWebSockets.js';
import type { Closing } from '../delivery/closing.js';
import type { SlowClients } from '../delivery/slow-clients.js';
import type { FrameReceiver, HttpExchange, ResponseHeaders, UpgradeExchange } from '../http/exchange.js';
import { readRequest } from '../http/request.js';
import type { AddressLimits } from '../limits/address-limits.js';
import type { ConnectionGuard } from '../limits/connection-guard.js';
import type { FrameGuard } from '../limits/frame-guard.js';
import { isExpectedHost } from '../limits/origin.js';
import type { RequestGuard } from '../limits/request-guard.js';
import { type SocketData, UwsHttpExchange, UwsUpgradeExchange } from './uws-exchange.js';

/** Values of uWebSockets.js's `compression` option. Its typings declare them as types only. */
const DISABLED = 0;
const SHARED_COMPRESSOR = 1;

/** The parts that all HTTP routes of an app share. */
export interface HttpHost {
  readonly settings: { readonly trustProxy: number; readonly allowedHosts: readonly string[] | undefined };
  readonly requestGuard: RequestGuard;
  /** Limits the waiting requests of one address; undefined without limits. */
  readonly addresses: AddressLimits | undefined;
}

/** The parts that all WebSocket routes share. */
export interface RouteHost extends HttpHost {
  readonly slow: SlowClients;
  readonly closing: Closing;
  readonly frameGuard: FrameGuard;
  readonly connectionGuard: ConnectionGuard;
}

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
  handle(exchange: HttpExchange): unknown;
}

/** Adds a route for HTTP requests. All HTTP requests arrive through such routes. */
export function routeHttp(app: TemplatedApp, host: HttpHost, route: HttpRoute): void {
  const { pattern, secure, maxBody = 0, isReadOnly = false, isForAnyHost = false, handle } = route;
  const { requestGuard, settings, addresses } = host;
  const onRequest = (res: HttpResponse, req: HttpRequest) => {
    if (isReadOnly && req.getHeader('upgrade') !== '') return void req.setYield(true);
    const exchange = new UwsHttpExchange(res, readRequest(res, req, secure, settings.trustProxy), maxBody);
    if (exchange.finished) return;
    const { request } = exchange;
    const address = request.connection.remoteAddress;
    if (!requestGuard.enter(address)) return exchange.destroy();
    if (!isForAnyHost && !isExpectedHost(request, settings)) return exchange.send(...misdirected);
    if (addresses && !addresses.enterRequest(exchange, address)) return exchange.send(...tooManyRequests);
    try {
      handle(exchange);
    } finally {
      requestGuard.leave();
    }
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
  onUpgrade(exchange: UpgradeExchange): void;
}

/** Adds a route for WebSockets. All WebSockets arrive through such routes. */
export function routeWebSockets(app: TemplatedApp, host: RouteHost, route: WebSocketRoute): void {
  const { slow, closing, frameGuard, requestGuard, connectionGuard, settings } = host;
  const { secure, onUpgrade } = route;
  app.ws<SocketData>(route.pattern, {
    maxPayloadLength: route.maxPayload,
    maxBackpressure: slow.limit,
    compression: route.compresses ? SHARED_COMPRESSOR : DISABLED,
    idleTimeout: route.idleTimeout,
    sendPingsAutomatically: false,
    upgrade: (res, req, context) => {
      const request = readRequest(res, req, secure, settings.trustProxy);
      UwsUpgradeExchange.handle(res, request, context, (exchange) => {
        if (!requestGuard.enter(request.connection.remoteAddress)) return exchange.destroy();
        if (!isExpectedHost(request, settings)) return exchange.send(...misdirected);
        try {
          onUpgrade(exchange);
        } finally {
          requestGuard.leave();
        }
      });
    },
    open: (ws) => receiverOf(ws).onOpen(ws),
    message: (ws, message, isBinary) => frameGuard.message(receiverOf(ws), message, isBinary),
    ping: (ws) => onControlFrame(receiverOf(ws)),
    pong: (ws) => onControlFrame(receiverOf(ws)),
    drain: (ws) => {
      closing.drained(ws);
      receiverOf(ws).onDrain();
    },
    dropped: (ws, message) => slow.onDropped(ws, message, receiverOf(ws)),
    close: (ws, code, reason) => {
      connectionGuard.closed();
      closing.closed(ws);
      frameGuard.closed(receiverOf(ws), code, Buffer.from(reason).toString());
    },
  });

  function onControlFrame(receiver: FrameReceiver): void {
    receiver.onControlFrame?.();
    frameGuard.control(receiver);
  }
}

type Answer = [status: number, headers: ResponseHeaders, body: string];
const misdirected: Answer = [
  421,
  {},
  'This server does not answer to this host name. Use one of the names in ALLOWED_HOSTS.',
];
const tooManyRequests: Answer = [
  429,
  {},
  'Too many requests from this IP address are waiting for their responses. Wait before you send another.',
];

/** Counts the connections of an app, and closes new ones beyond the limit. Call it once for each app. */
export function watchConnections(app: TemplatedApp, guard: ConnectionGuard): void {
  const onConnection = (res: HttpResponse, change: number): void => {
    if (change < 0) guard.closed();
    else if (!guard.opened()) res.close();
  };
  app.filter(onConnection);
}

/** The receiver of a WebSocket. uWebSockets.js keeps it as a property of the WebSocket, which saves a native call. */
function receiverOf(ws: WebSocket<SocketData>): FrameReceiver {
  return (ws as unknown as SocketData).receiver;
}
