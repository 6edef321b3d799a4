import type { TemplatedApp } from 'uWebSockets.js';
import type { Closing } from '../delivery/closing.js';
import type { SlowClients } from '../delivery/slow-clients.js';
import type { HttpExchange, UpgradeExchange } from '../http/exchange.js';
import { readRequest } from '../http/request.js';
import type { EngineSettings } from '../options.js';
import {
  asConnection,
  DISABLED,
  noteClosed,
  noteOpen,
  receiverOf,
  SHARED_COMPRESSOR,
  type SocketData,
  UwsHttpExchange,
  UwsUpgradeExchange,
} from './uws-exchange.js';

/** Where the engine answers. */
export interface AttachOptions {
  /** @default "/socket.io" */
  path?: string;
  /** Whether the path ends in a slash. @default true */
  addTrailingSlash?: boolean;
  /** Whether the app is an SSLApp: what `handshake.secure` says. @default false */
  secure?: boolean;
}

/** What uWebSockets.js tells the engine. */
export interface Attached {
  readonly settings: EngineSettings;
  onRequest(exchange: HttpExchange): void;
  readonly slow: SlowClients;
  readonly closing: Closing;
  onUpgrade(exchange: UpgradeExchange): void;
}

/** Makes an app pass on to the engine what comes in on its path. */
export function attachTo(
  app: TemplatedApp,
  engine: Attached,
  { path = '/socket.io', addTrailingSlash = true, secure = false }: AttachOptions,
): void {
  const bare = path.replace(/\/$/, '');
  const pattern = addTrailingSlash ? `${bare}/` : bare;
  const { slow, closing, settings } = engine;
  const { maxHttpBufferSize, perMessageDeflate, trustProxy } = settings;
  app.ws<SocketData>(pattern, {
    maxPayloadLength: maxHttpBufferSize,
    maxBackpressure: slow.limit,
    compression: perMessageDeflate ? SHARED_COMPRESSOR : DISABLED,
    // Engine.IO has heartbeats of its own, but not for what goes on with a WebSocket after its session.
    idleTimeout: idleTimeoutOf(settings),
    sendPingsAutomatically: false,
    upgrade: (res, req, context) => {
      const request = readRequest(res, req, secure, trustProxy);
      UwsUpgradeExchange.handle(res, request, context, (exchange) => engine.onUpgrade(exchange));
    },
    open: (ws) => {
      noteOpen(ws);
      receiverOf(ws).onOpen(asConnection(ws));
    },
    message: (ws, message, isBinary) => receiverOf(ws).onMessage(message, isBinary),
    drain: (ws) => {
      closing.drained(ws);
      receiverOf(ws).onDrain();
    },
    dropped: (ws, message) => slow.onDropped(ws, message, receiverOf(ws)),
    close: (ws, code, reason) => {
      noteClosed(ws);
      closing.closed(ws);
      receiverOf(ws).onClose(code, Buffer.from(reason).toString());
    },
  });
  app.any(pattern, (res, req) => {
    engine.onRequest(new UwsHttpExchange(res, readRequest(res, req, secure, trustProxy), maxHttpBufferSize));
  });
}

/** The longest that uWebSockets.js takes, in s. */
const MAX_IDLE_SECONDS = 960;

/** In s: a little more than a session lives without any message in either direction. */
function idleTimeoutOf({ pingInterval, pingTimeout }: EngineSettings): number {
  const seconds = Math.ceil((pingInterval + pingTimeout) / 1000) + 15;
  return seconds > MAX_IDLE_SECONDS ? 0 : seconds;
}
