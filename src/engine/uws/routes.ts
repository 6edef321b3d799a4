import type { FrameReceiver } from '../http/exchange.js';
import { type HttpHost, handleRequest } from '../http/guarded-requests.js';
import { readRequest } from '../http/request.js';
import { FrameEvents, type HttpRoute, type RouteHost, upgradeHostOf, type WebSocketRoute } from '../http/route.js';
import type { ConnectionGuard } from '../limits/connection-guard.js';
import type { HttpRequest, HttpResponse, TemplatedApp, WebSocket } from './app.js';
import { UwsHttpExchange, type UwsSocketData, UwsUpgradeExchange } from './uws-exchange.js';

/** Values of uWebSockets.js's `compression` option. Its typings declare them as types only. */
const DISABLED = 0;
const SHARED_COMPRESSOR = 1;

export function routeUwsHttp(app: TemplatedApp, host: HttpHost, route: HttpRoute): void {
  const { pattern, secure, maxBody = 0, isReadOnly = false, isForAnyHost = false, handle } = route;
  const { trustProxy } = host.settings;
  const onRequest = (res: HttpResponse, req: HttpRequest) => {
    if (isReadOnly && req.getHeader('upgrade') !== '') return void req.setYield(true);
    const exchange = new UwsHttpExchange(res, readRequest(res, req, secure, trustProxy), maxBody, host);
    if (!exchange.finished) handleRequest(exchange, host, handle, isForAnyHost);
  };
  if (isReadOnly) app.get(pattern, onRequest).head(pattern, onRequest);
  else app.any(pattern, onRequest);
}

export function routeUwsWebSockets(app: TemplatedApp, host: RouteHost, route: WebSocketRoute): void {
  const upgradeHost = upgradeHostOf(host);
  const events = new FrameEvents(host);
  const { secure, onUpgrade } = route;
  const { trustProxy } = host.settings;
  app.ws<UwsSocketData>(route.pattern, {
    maxPayloadLength: route.maxPayload,
    maxBackpressure: host.slow.limit,
    compression: route.compresses ? SHARED_COMPRESSOR : DISABLED,
    idleTimeout: route.idleTimeout,
    sendPingsAutomatically: false,
    upgrade: (res, req, context) => {
      UwsUpgradeExchange.handle(res, readRequest(res, req, secure, trustProxy), context, host, (exchange) =>
        handleRequest(exchange, upgradeHost, onUpgrade),
      );
    },
    open: (ws) => receiverOf(ws).onOpen(ws),
    message: (ws, message, isBinary) => events.message(receiverOf(ws), message, isBinary),
    ping: (ws) => events.control(receiverOf(ws)),
    pong: (ws) => events.ponged(ws, receiverOf(ws)),
    drain: (ws) => events.drained(ws, receiverOf(ws)),
    dropped: (ws) => events.dropped(ws, receiverOf(ws)),
    close: (ws, code, reason) => {
      webSocketClosed(app);
      events.closed(ws, receiverOf(ws), code, Buffer.from(reason).toString());
    },
  });
}

const guards = new WeakMap<TemplatedApp, ConnectionGuard>();

/** Counts the connections of an app, and closes new ones beyond the limit. The first guard of an app counts. */
export function watchUwsConnections(app: TemplatedApp, guard: ConnectionGuard): void {
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
function webSocketClosed(app: TemplatedApp): void {
  guards.get(app)?.closed();
}

/** The receiver of a WebSocket. uWebSockets.js keeps it as a property of the WebSocket, which saves a native call. */
function receiverOf(ws: WebSocket<UwsSocketData>): FrameReceiver {
  return (ws as unknown as UwsSocketData).receiver;
}
