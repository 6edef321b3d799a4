import type { HttpExchange, UpgradeExchange } from './exchange.js';
import type { FrameHost } from './frame-events.js';
import type { HttpHost } from './guarded-requests.js';

/** The parts that all WebSocket routes share. */
export interface RouteHost extends HttpHost, FrameHost {}

export interface HttpRoute {
  /** A path, or the beginning of one and `*`. */
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

export interface WebSocketRoute {
  pattern: string;
  secure: boolean;
  /** Maximum size of a message, in bytes. A larger one ends the connection. */
  maxPayload: number;
  /** Whether messages may be compressed. */
  compresses: boolean;
  /** In seconds; 0 is no limit. */
  idleTimeout: number;
  onUpgrade(exchange: UpgradeExchange): void;
}

/** The limits for one address count WebSockets as clients, not as waiting requests. */
export function upgradeHostOf(host: RouteHost): HttpHost {
  return {
    settings: host.settings,
    requestGuard: host.requestGuard,
    addresses: undefined,
    onFlood: (request) => host.onFlood?.(request),
  };
}
