import type { Closing } from '../delivery/closing.js';
import type { SlowClients } from '../delivery/slow-clients.js';
import type { FrameGuard } from '../limits/frame-guard.js';
import type { FrameReceiver, HttpExchange, NativeWebSocket, UpgradeExchange } from './exchange.js';
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

/** The parts of an engine that get the events of its WebSockets. */
export interface FrameHost {
  readonly slow: SlowClients;
  readonly closing: Closing;
  readonly frameGuard: FrameGuard;
}

/** What both bases do with the events of a WebSocket. */
export class FrameEvents {
  constructor(private readonly host: FrameHost) {}

  message(...message: Parameters<FrameGuard['message']>): void {
    this.host.frameGuard.message(...message);
  }

  /** The client has sent a ping or a pong. */
  control(receiver: FrameReceiver): void {
    receiver.onControlFrame?.();
    this.host.frameGuard.control(receiver);
  }

  ponged(webSocket: NativeWebSocket, receiver: FrameReceiver): void {
    this.control(receiver);
    this.host.closing.ponged(webSocket);
  }

  drained(webSocket: NativeWebSocket, receiver: FrameReceiver): void {
    this.host.closing.drained(webSocket);
    receiver.onDrain();
  }

  dropped(webSocket: NativeWebSocket, receiver: FrameReceiver): void {
    this.host.slow.onDropped(webSocket, receiver);
  }

  /** Whether messages of a WebSocket wait to be handled, or it is about to close. */
  isWaiting(webSocket: NativeWebSocket, receiver: FrameReceiver): boolean {
    const { closing, slow, frameGuard } = this.host;
    return frameGuard.isWaiting(receiver) || closing.has(webSocket) || slow.muted.has(webSocket);
  }

  closed(webSocket: NativeWebSocket, receiver: FrameReceiver, code: number, reason: string): void {
    const { closing, slow, frameGuard } = this.host;
    closing.closed(webSocket);
    slow.muted.delete(webSocket);
    frameGuard.closed(receiver, code, reason);
  }
}
