import { flag, row, settingsOf, text } from '../base/options.js';
import type { Engine } from './engine.js';
import type { EngineSettings } from './options.js';
import { routeHttp, routeWebSockets, watchConnections } from './routes.js';
import type { TemplatedApp } from './uws/app.js';

/** The path on which the engine answers. */
export interface AttachOptions {
  /** The path on which the engine answers. @default "/socket.io" */
  path?: string;
  /** Whether the path ends in a slash. @default true */
  addTrailingSlash?: boolean;
  /** Whether the app is an SSLApp; sets `handshake.secure`. @default false */
  secure?: boolean;
  /** Whether the engine also answers requests below the path, as engine.io does. @default false */
  below?: boolean;
}

const attachOptions = {
  path: row(text(), '/socket.io'),
  addTrailingSlash: row(flag, true),
  secure: row(flag, false),
  below: row(flag, false),
};

/** Adds routes to an app that pass the requests on the engine's path to the engine. */
export function attachTo(app: TemplatedApp, engine: Engine, options: AttachOptions): void {
  const { path, addTrailingSlash, secure, below } = settingsOf('attach()', attachOptions, options);
  const bare = path.replace(/\/$/, '');
  const patterns = [addTrailingSlash ? `${bare}/` : bare];
  if (below) patterns.push(`${bare}/*`);
  if (below && !addTrailingSlash) patterns.push(`${bare}/`);
  const { settings } = engine;
  watchConnections(app, engine.connectionGuard);
  for (const pattern of patterns) {
    routeWebSockets(app, engine, {
      pattern,
      secure,
      maxPayload: settings.maxHttpBufferSize,
      compresses: settings.perMessageDeflate !== undefined,
      // Engine.IO has heartbeats of its own, but they end with the session, and the WebSocket may outlive it.
      idleTimeout: idleTimeoutOf(settings),
      onUpgrade: (exchange) => engine.onUpgrade(exchange),
    });
    routeHttp(app, engine, {
      pattern,
      secure,
      maxBody: settings.maxHttpBufferSize,
      handle: (exchange) => engine.onRequest(exchange),
    });
  }
}

/** The longest idle timeout that uWebSockets.js accepts. */
const MAX_IDLE_SECONDS = 960;

/** In seconds: a little longer than a session lives without any message in either direction. */
function idleTimeoutOf({ pingInterval, pingTimeout }: EngineSettings): number {
  const seconds = Math.ceil((pingInterval + pingTimeout) / 1000) + 15;
  return seconds > MAX_IDLE_SECONDS ? 0 : seconds;
}
