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

/** What all HTTP routes of an app have in common. */
export interface HttpHost {
  readonly settings: { readonly trustProxy: number; readonly allowedHosts: readonly string[] | undefined };
  readonly requestGuard: RequestGuard;
  /** How many requests of one address may wait for their answers, if that is limited. */
  readonly addresses: AddressLimits | undefined;
}

/** The same for WebSockets, of which an engine has the rest. */
export interface RouteHost extends HttpHost {
  readonly slow: SlowClients;
  readonly closing: Closing;
  readonly frameGuard: FrameGuard;
  readonly connectionGuard: ConnectionGuard;
}

export interface HttpRoute {
  /** As uWebSockets.js takes it. */
  pattern: string;
  /** Whether the app is an SSLApp. */
  secure: boolean;
  /** Longest body of a POST, in bytes. @default 0 */
  maxBody?: number;
  /** Whether the route answers by whatever name it is asked for. @default false */
  isForAnyHost?: boolean;
  /** Whether only GET and HEAD are answered, and requests for a WebSocket are left to other routes. @default false */
  isReadOnly?: boolean;
  handle(exchange: HttpExchange): unknown;
}

/** Answers HTTP requests: the one way in which they come from uWebSockets.js. */
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
  /** Longest message, in bytes; uWebSockets.js resets the connection for longer ones. */
  maxPayload: number;
  /** Whether messages may be compressed. */
  compresses: boolean;
  /** In s; 0 is no limit. */
  idleTimeout: number;
  onUpgrade(exchange: UpgradeExchange): void;
}

/** Answers requests for WebSockets: the one way in which they come from uWebSockets.js. */
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
const misdirected: Answer = [421, {}, 'This server is not asked for by that name (ALLOWED_HOSTS).'];
const tooManyRequests: Answer = [429, {}, 'Too many requests of this address wait for their answers.'];

/** Counts the connections of an app, and closes those that are too many. Call it once for each app. */
export function watchConnections(app: TemplatedApp, guard: ConnectionGuard): void {
  const onConnection = (res: HttpResponse, change: number): void => {
    if (change < 0) guard.closed();
    else if (!guard.opened()) res.close();
  };
  app.filter(onConnection);
}

/** The owner of a WebSocket. uWebSockets.js keeps it as a property of the WebSocket, which spares a native call. */
function receiverOf(ws: WebSocket<SocketData>): FrameReceiver {
  return (ws as unknown as SocketData).receiver;
}
