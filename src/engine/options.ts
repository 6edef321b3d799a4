import type { ZlibOptions } from 'node:zlib';
import type { CookieSerializeOptions } from 'cookie';
import type { CorsOptions, CorsOptionsDelegate } from 'cors';
import type { EngineRequest } from './request.js';
import type { HttpCompression } from './transports/polling.js';
import type { TransportName } from './transports/transport.js';

/** Options of the engine. Names, meanings and defaults are engine.io's, where engine.io has them. */
export interface EngineOptions {
  /** How long a client may take to answer a ping before its session is closed, in ms. @default 20000 */
  pingTimeout?: number;
  /** How long after a client was heard of it is pinged, in ms. @default 25000 */
  pingInterval?: number;
  /** How long an upgrade to WebSocket may take, in ms. @default 10000 */
  upgradeTimeout?: number;
  /** The longest message or polling payload that is accepted, in bytes. @default 1000000 */
  maxHttpBufferSize?: number;
  /** The transports that are enabled. @default ["polling", "websocket"] */
  transports?: readonly TransportName[];
  /** Whether clients are offered to move from polling to WebSocket. @default true */
  allowUpgrades?: boolean;
  /** Decides over each handshake: `done(null, true)` lets the client in, `done(message, false)` answers "Forbidden". */
  allowRequest?: (
    // biome-ignore lint/suspicious/noExplicitAny: written by applications against node:http's IncomingMessage
    request: any,
    done: (message: string | null | undefined, success: boolean) => void,
  ) => void;
  /** Which pages of other origins may connect; options of the `cors` package. @default no others */
  cors?: CorsOptions | CorsOptionsDelegate;
  /** A cookie with the session's id, sent with the handshake: `true`, or the cookie's options. @default false */
  cookie?: boolean | (CookieSerializeOptions & { name?: string });
  /** Compression of polling responses: zlib's options and a `threshold` in bytes (1024). `false` turns it off. */
  httpCompression?: boolean | (ZlibOptions & { threshold?: number });
  /** Compression of WebSocket messages from `threshold` bytes on (1024). Costs memory and CPU. @default false */
  perMessageDeflate?: boolean | { threshold?: number };
  /** A message sent with the handshake. @default none */
  initialPacket?: string | Buffer;
  /** Whether Socket.IO v2 clients (Engine.IO v3) are let in. @default false */
  allowEIO3?: boolean;
  /** How many bytes may wait for one slow client; beyond, messages to it are dropped. 0 is no limit. @default 0 */
  maxBackpressure?: number;
  /** The longest time a busy engine gathers what it sends over WebSockets, in ms; 0 sends at once. @default 25 */
  flushMs?: number;
  /** What the ids of this engine's sessions begin with. @default "" */
  idPrefix?: string;
}

export type CookieSettings = CookieSerializeOptions & { name: string };

/** The options with all defaults in place. */
export interface EngineSettings {
  readonly pingTimeout: number;
  readonly pingInterval: number;
  readonly upgradeTimeout: number;
  readonly maxHttpBufferSize: number;
  readonly transports: readonly TransportName[];
  readonly allowUpgrades: boolean;
  readonly allowRequest: EngineOptions['allowRequest'];
  readonly cors: EngineOptions['cors'];
  readonly cookie: CookieSettings | undefined;
  readonly httpCompression: HttpCompression | undefined;
  readonly perMessageDeflate: { threshold: number } | undefined;
  readonly initialPacket: string | Buffer | undefined;
  readonly allowEIO3: boolean;
  readonly maxBackpressure: number;
  readonly flushMs: number;
  readonly idPrefix: string;
}

const DEFAULT_THRESHOLD = 1024;

/** Puts the defaults in place. */
export function settingsFrom(options: EngineOptions): EngineSettings {
  const { cookie, httpCompression = true, perMessageDeflate = false } = options;
  return {
    pingTimeout: options.pingTimeout ?? 20_000,
    pingInterval: options.pingInterval ?? 25_000,
    upgradeTimeout: options.upgradeTimeout ?? 10_000,
    maxHttpBufferSize: options.maxHttpBufferSize ?? 1e6,
    transports: options.transports ?? ['polling', 'websocket'],
    allowUpgrades: options.allowUpgrades ?? true,
    allowRequest: options.allowRequest,
    cors: options.cors,
    cookie: cookie
      ? { name: 'io', path: '/', httpOnly: true, sameSite: 'lax', ...(cookie === true ? {} : cookie) }
      : undefined,
    httpCompression: httpCompression
      ? { threshold: DEFAULT_THRESHOLD, ...(httpCompression === true ? {} : httpCompression) }
      : undefined,
    perMessageDeflate: perMessageDeflate
      ? { threshold: DEFAULT_THRESHOLD, ...(perMessageDeflate === true ? {} : perMessageDeflate) }
      : undefined,
    initialPacket: options.initialPacket,
    allowEIO3: options.allowEIO3 ?? false,
    maxBackpressure: options.maxBackpressure ?? 0,
    flushMs: options.flushMs ?? 25,
    idPrefix: options.idPrefix ?? '',
  };
}

/** A handshake request, as `generateId` gets it. */
export type HandshakeRequest = EngineRequest;
