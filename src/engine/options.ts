import type { ZlibOptions } from 'node:zlib';
import type { CookieSerializeOptions } from 'cookie';
import type { CorsOptions, CorsOptionsDelegate } from 'cors';
import { memoryLimit } from '../base/system-limits.js';
import type { KeepAlive } from './http/keep-alive.js';
import type { RateLimits } from './limits/rates.js';
import type { HttpCompression } from './transports/polling.js';
import type { TransportName } from './transports/transport.js';

/** Options of the engine. Options that engine.io has too keep their names, meanings and defaults. */
export interface EngineOptions {
  /**
   * How long a client may take to answer a ping, in ms. Beyond it, its session is closed with the reason "ping
   * timeout". An Engine.IO v3 client sends the pings itself, and may be silent for `pingInterval` + `pingTimeout`.
   * @default 20000
   */
  pingTimeout?: number;
  /** How long after a client's last pong the server sends the next ping, in ms. @default 25000 */
  pingInterval?: number;
  /**
   * How long an upgrade to WebSocket may take, in ms. Beyond it, the server closes the WebSocket, and the session stays
   * on polling. @default 10000
   */
  upgradeTimeout?: number;
  /**
   * Maximum size of a WebSocket message or of the body of a polling request, in bytes. A client that sends more is
   * closed with the reason "transport error"; over polling, its request gets the status 413, and the reason is "transport
   * close". @default 1000000
   */
  maxHttpBufferSize?: number;
  /**
   * Maximum size of a Socket.IO packet with all its attachments, in bytes. A client that sends more is closed with the
   * reason "packet too large". Applies with gjallar's parser. @default 4 * maxHttpBufferSize
   */
  maxPacketSize?: number;
  /**
   * Maximum number of attachments of a Socket.IO packet. A client that announces more is closed with the reason "packet
   * too large". Applies with gjallar's parser. socket.io-client itself reads at most 10, unless its `parser` allows
   * more. @default 10
   */
  maxAttachments?: number;
  /**
   * The transports that clients may use: "polling", "websocket" or both. A request for another transport gets the
   * status 400. @default ["polling", "websocket"]
   */
  transports?: readonly TransportName[];
  /**
   * Whether clients may upgrade from polling to WebSocket. With `false`, the handshake offers no upgrade. @default true
   */
  allowUpgrades?: boolean;
  /**
   * Decides on each handshake. `done(null, true)` admits the client. `done(message, false)` rejects it with the status
   * 403 and the message, or with "Forbidden" if there is no message.
   */
  allowRequest?: (
    // biome-ignore lint/suspicious/noExplicitAny: written by applications against node:http's IncomingMessage
    request: any,
    done: (message: string | null | undefined, success: boolean) => void,
  ) => void;
  /**
   * Which pages of other origins may use polling: options of the `cors` package. To limit WebSockets too, set
   * `origins`. @default no others
   */
  cors?: CorsOptions | CorsOptionsDelegate;
  /**
   * A cookie with the id of the session, which the response to a polling handshake sets. `true` names it "io", with the
   * path "/", `httpOnly` and `sameSite: "lax"`. An object replaces these options, which are those of the `cookie`
   * package. @default false
   */
  cookie?: boolean | (CookieSerializeOptions & { name?: string });
  /**
   * Compression of polling responses of `threshold` bytes (1024) or more, if the client accepts gzip or deflate. An
   * object sets the threshold and options of zlib; `false` turns compression off. @default true
   */
  httpCompression?: boolean | (ZlibOptions & { threshold?: number });
  /**
   * Compression of WebSocket messages of `threshold` bytes (1024) or more. Costs memory and CPU. `true` uses that
   * threshold; an object sets another one. @default false
   */
  perMessageDeflate?: boolean | { threshold?: number };
  /** A message that each client receives right after its handshake. @default none */
  initialPacket?: string | Buffer;
  /** Whether Socket.IO v2 clients, which speak Engine.IO v3, may connect. @default false */
  allowEIO3?: boolean;
  /** How many bytes may wait for one client. Beyond it, its session ends with the reason "slow client". 0 is no limit. @default 0 */
  maxBackpressure?: number;
  /**
   * How many bytes may wait for and from all clients of this engine together: output to slow clients, and incomplete
   * packets, bodies and messages that came in. Beyond it, the engine closes the clients with the most waiting bytes,
   * until half of the budget is free. The reason is "slow client" for output, "incomplete packet" for packets, "rate
   * limit" for messages, and "transport error" for bodies, whose requests get the status 503. A client for which less
   * than 64 KiB of output waits stays. 0 is no limit for output; for input it is a quarter of the memory.
   * @default a quarter of the memory
   */
  maxBuffered?: number;
  /**
   * Whether an overloaded engine drops work, so that the clients it has are still served in time. From a delay of the
   * event loop of 100 ms, it drops volatile messages to rooms. From 250 ms, it rejects new clients with the status 503.
   * @default false
   */
  shedsLoad?: boolean;
  /**
   * The host names, without port, that the header `Host` may have; with `trustProxy`, the header `X-Forwarded-Host`
   * counts instead, if the request has it. Requests with other names get the status 421. This protects servers in a
   * private network from DNS rebinding. @default all
   */
  allowedHosts?: readonly string[];
  /**
   * How many messages (`events`) and bytes (`bytes`) each client may send, and how many new clients (`connections`) may
   * connect from one address. Each is `{ amount, per }`, with `per` in ms; `amount` is also the largest burst.
   * `socket.conn.isOverLimit` is true for a client that is over its limit, and the application still receives its
   * messages. At twice the amount, the client is closed with the reason "rate limit". New clients beyond the limit are
   * rejected with the status 429. @default no limits
   */
  rateLimit?: RateLimits;
  /**
   * How many clients of this engine one address may have at the same time; further ones are rejected with the status
   * 429. As many HTTP requests of the address may wait for their responses. An address is an IPv4 address, or the first
   * 64 bits of an IPv6 address. 0 is no limit. @default 0
   */
  maxConnectionsPerIp?: number;
  /**
   * How many of your proxies each request passes. The client's address is then the entry of `X-Forwarded-For` that the
   * outermost of them has added. 0 ignores that header. @default 0
   */
  trustProxy?: number;
  /**
   * Which connections of HTTP requests stay open for further requests. uWebSockets.js closes idle ones after 10 s, and
   * a proxy that keeps them for longer would answer now and then with a 502. "auto" therefore ends the connection with
   * each response to a request that has a header of proxies, such as `X-Forwarded-For` or `Via`. "off" ends every
   * connection, for proxies that add no header. "on" ends none, for proxies that close idle connections within 7 s.
   * @default "auto"
   */
  keepAlive?: KeepAlive;
  /**
   * The origins whose pages may connect, besides pages of the same host. `https://*.example.com` is every subdomain of
   * example.com, and `*` every origin. Requests from other origins are rejected with the status 403, including
   * WebSockets, which `cors` alone does not reject. @default all
   */
  origins?: readonly string[];
  /**
   * Longest time that a busy engine holds messages, so that it can send them together, in ms. 0 sends each one at once.
   * @default 25
   */
  flushMs?: number;
  /** Prefix of the ids of this engine's sessions. `gjallar run` sets it itself. @default "" */
  idPrefix?: string;
}

export type CookieSettings = CookieSerializeOptions & { name: string };

/** The options with all defaults in place. */
export interface EngineSettings {
  readonly pingTimeout: number;
  readonly pingInterval: number;
  readonly upgradeTimeout: number;
  readonly maxHttpBufferSize: number;
  readonly maxPacketSize: number;
  readonly maxAttachments: number;
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
  readonly maxBuffered: number;
  /** How many bytes may wait from all clients together. */
  readonly maxIncoming: number;
  readonly shedsLoad: boolean;
  readonly allowedHosts: readonly string[] | undefined;
  readonly rateLimit: RateLimits;
  readonly maxConnectionsPerIp: number;
  readonly trustProxy: number;
  readonly keepAlive: KeepAlive;
  readonly origins: readonly string[];
  readonly flushMs: number;
  readonly idPrefix: string;
}

const DEFAULT_THRESHOLD = 1024;
const DEFAULT_MAX_HTTP_BUFFER_SIZE = 1e6;
/** How many messages of the maximum size a packet may consist of by default. */
const MESSAGES_IN_A_PACKET = 4;
/** As in socket.io-parser. */
const MAX_ATTACHMENTS = 10;

/** Fills in the defaults. */
export function settingsFrom(options: EngineOptions): EngineSettings {
  const { cookie, httpCompression = true, perMessageDeflate = false } = options;
  const { maxHttpBufferSize = DEFAULT_MAX_HTTP_BUFFER_SIZE, maxBuffered = quarterOfMemory() } = options;
  return {
    pingTimeout: options.pingTimeout ?? 20_000,
    pingInterval: options.pingInterval ?? 25_000,
    upgradeTimeout: options.upgradeTimeout ?? 10_000,
    maxHttpBufferSize,
    maxPacketSize: options.maxPacketSize ?? MESSAGES_IN_A_PACKET * maxHttpBufferSize,
    maxAttachments: options.maxAttachments ?? MAX_ATTACHMENTS,
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
    maxBuffered,
    maxIncoming: maxBuffered || quarterOfMemory(),
    shedsLoad: options.shedsLoad ?? false,
    allowedHosts: options.allowedHosts?.map((host) => host.toLowerCase()),
    rateLimit: options.rateLimit ?? {},
    maxConnectionsPerIp: options.maxConnectionsPerIp ?? 0,
    trustProxy: options.trustProxy ?? 0,
    keepAlive: options.keepAlive === 'on' || options.keepAlive === 'off' ? options.keepAlive : 'auto',
    origins: options.origins ?? ['*'],
    flushMs: options.flushMs ?? 25,
    idPrefix: options.idPrefix ?? '',
  };
}

function quarterOfMemory(): number {
  return Math.floor(memoryLimit() / 4);
}
