import type { HttpHost } from './http/guarded-requests.js';
import type { HttpRoute, RouteHost, WebSocketRoute } from './http/route.js';
import type { ConnectionGuard } from './limits/connection-guard.js';
import { isNodeApp } from './node/load.js';
import type { TemplatedApp } from './uws/app.js';
import { routeUwsHttp, routeUwsWebSockets, watchUwsConnections } from './uws/routes.js';

/** Adds a route for HTTP requests. All HTTP requests arrive through such routes. */
export function routeHttp(app: TemplatedApp, host: HttpHost, route: HttpRoute): void {
  if (isNodeApp(app)) app.routeHttp(host, route);
  else routeUwsHttp(app, host, route);
}

/** Adds a route for WebSockets. All WebSockets arrive through such routes. */
export function routeWebSockets(app: TemplatedApp, host: RouteHost, route: WebSocketRoute): void {
  if (isNodeApp(app)) app.routeWebSockets(host, route);
  else routeUwsWebSockets(app, host, route);
}

/** Counts the connections of an app, and closes new ones beyond the limit. The first guard of an app counts. */
export function watchConnections(app: TemplatedApp, guard: ConnectionGuard): void {
  if (isNodeApp(app)) app.watch(guard);
  else watchUwsConnections(app, guard);
}
