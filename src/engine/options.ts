import { constants } from 'node:buffer';
import { gzipSync, type ZlibOptions } from 'node:zlib';
import type { CookieSerializeOptions } from 'cookie';
import type { CorsOptions, CorsOptionsDelegate } from 'cors';
import {
  callback,
  checked,
  either,
  fields,
  flag,
  integer,
  list,
  number,
  type OptionKind,
  oneOf,
  type Row,
  row,
  text,
  type Values,
  value,
  withDefaults,
} from '../base/options.js';
import { memoryLimit } from '../base/system-limits.js';
import type { KeepAlive } from './http/keep-alive.js';
import { type RateLimits, rates } from './limits/rates.js';
import type { HttpCompression } from './transports/polling.js';
import { type TransportName, transportNames } from './transports/transport.js';

/** Options of the engine. Options that engine.io has too keep their names, meanings and defaults. */
export interface EngineOptions {
  /**
   * How long a client may take to answer a ping, in ms. If it sends another packet first, it has that long again, once.
   * After that, its session is closed with the reason "ping timeout". An Engine.IO v3 client sends the pings itself, and
   * may be silent for `pingInterval` + `pingTimeout`.
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
   * close". `Infinity` is as much as a string can hold, about 512 MiB. @default 1000000
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
   * Maximum size of what a client sends in `auth`, in bytes; each comma and bracket in it counts as 32 more. A client that
   * sends more is closed with the reason "packet too large". Applies with gjallar's parser. @default 65536
   */
  maxAuthSize?: number;
  /**
   * How many namespaces a client may be connected to. Further ones get the error TOO_MANY_NAMESPACES. @default 100
   */
  maxNamespacesPerClient?: number;
  /**
   * How many dynamic namespaces there may be. Beyond it, those without clients are removed, as with
   * `cleanupEmptyChildNamespaces`; if there is none, the client gets the error TOO_MANY_NAMESPACES. @default 5000
   */
  maxNamespaces?: number;
  /**
   * How many rooms a socket may be in. A client whose socket joins more is closed with the reason "too many rooms".
   * @default 10000
   */
  maxRoomsPerSocket?: number;
  /**
   * How many bytes the names of a socket's rooms may have together. Names of up to 64 characters do not count, and an object counts
   * as 64 KB. A client whose socket joins more is closed with the reason "too many rooms". @default 1048576
   */
  maxRoomBytesPerSocket?: number;
  /**
   * How many rooms a call may name, such as `io.to(rooms).except(others).emit()`. One that names more reaches no client: the process
   * warns once with the code TOO_MANY_ROOMS_IN_CALL. @default 10000
   */
  maxRoomsPerCall?: number;
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

const DEFAULT_THRESHOLD = 1024;
/** How many messages of the maximum size a packet may consist of by default. */
const MESSAGES_IN_A_PACKET = 4;
/** A client adds both times of the heartbeat, for one timer. */
const MAX_HEARTBEAT_MS = 2 ** 30;

const heartbeat = number(1, MAX_HEARTBEAT_MS, 'ms');
const bytes = number(0, undefined, 'bytes');

const ORIGIN = /^(\*|[a-z][a-z0-9+.-]*:\/\/(\*\.)?[^/\s*]+)$/i;
const HOST = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])$/i;

const origin = text('an origin', ORIGIN);
export const origins = list('*, or origins such as https://example.com or https://*.example.com, separated by commas', {
  ...origin,
  // Socket.IO v2 wrote it so.
  read: (given) => (given === '*:*' ? '*' : origin.read(given)),
});

const host: OptionKind<string> = {
  accepts: 'a host name',
  read: (given) => (typeof given === 'string' && HOST.test(given) ? given.toLowerCase() : undefined),
};

/** Text has the names of several transports, too, as in engine.io. The engine has no WebTransport, and the Server warns of it. */
const names = list('', oneOf([...transportNames, 'webtransport']));
const transports: OptionKind<readonly TransportName[]> = {
  accepts: '"polling", "websocket" or a list of both',
  read(given) {
    const read = names.read(given) as TransportName[] | undefined;
    return read?.some((name) => transportNames.includes(name)) ? read : undefined;
  },
};

const compression = value<ZlibOptions & { threshold?: number }>('options of zlib', (given) => {
  try {
    gzipSync('', given);
    return bytes.read((given as { threshold?: unknown }).threshold ?? 0) !== undefined;
  } catch {
    return false;
  }
});

/** The options of {@link EngineOptions}: what each accepts, and its default. */
export const engineOptions = {
  pingTimeout: row(heartbeat, 20_000),
  pingInterval: row(heartbeat, 25_000),
  upgradeTimeout: row(heartbeat, 10_000),
  maxHttpBufferSize: row(number(1, undefined, 'bytes'), 1e6),
  maxPacketSize: row(number(1, undefined, 'bytes')),
  // As in socket.io-parser.
  maxAttachments: row(number(0), 10),
  maxAuthSize: row(bytes, 65_536),
  maxNamespacesPerClient: row(number(1), 100),
  maxNamespaces: row(number(1), 5000),
  maxRoomsPerSocket: row(number(1), 10_000),
  maxRoomBytesPerSocket: row(bytes, 1_048_576),
  maxRoomsPerCall: row(number(1), 10_000),
  transports: row(transports, transportNames),
  allowUpgrades: row(flag, true),
  allowRequest: row(callback<NonNullable<EngineOptions['allowRequest']>>()),
  cors: row(
    either(
      flag,
      value<CorsOptions | CorsOptionsDelegate>('an object such as { origin: "https://example.com" }', () => true),
    ),
  ),
  cookie: row(either(flag, fields<CookieSerializeOptions & { name?: string }>({ name: text() })), false),
  httpCompression: row(either(flag, compression), true),
  perMessageDeflate: row(either(flag, fields<{ threshold?: number }>({ threshold: bytes })), false),
  initialPacket: row(
    either(
      text(),
      value<Buffer>('bytes', (given) => ArrayBuffer.isView(given)),
    ),
  ),
  allowEIO3: row(flag, false),
  maxBackpressure: row(bytes, 0),
  maxBuffered: row(bytes),
  shedsLoad: row(flag, false),
  allowedHosts: row(list('host names separated by commas, such as chat.example.com,localhost', host)),
  rateLimit: row<RateLimits>(rates, {}),
  maxConnectionsPerIp: row(integer(0, 10_000_000), 0),
  trustProxy: row(integer(0, 16), 0),
  keepAlive: row(oneOf(['auto', 'on', 'off']), 'auto'),
  origins: row(origins, ['*']),
  flushMs: row(number(0, 1000), 25),
  idPrefix: row(text(), ''),
} satisfies { readonly [K in keyof EngineOptions]-?: Row };

/** The options with all defaults in place. */
export type EngineSettings = Omit<Values<typeof engineOptions>, 'cookie' | 'httpCompression' | 'perMessageDeflate'> & {
  readonly maxPacketSize: number;
  readonly maxBuffered: number;
  /** How many bytes may wait from all clients together. */
  readonly maxIncoming: number;
  readonly cookie: CookieSettings | undefined;
  readonly httpCompression: HttpCompression | undefined;
  readonly perMessageDeflate: { threshold: number } | undefined;
};

/**
 * Checks the options, and fills in the defaults.
 * @throws GjallarError BAD_INPUT
 */
export function settingsFrom(given: EngineOptions): EngineSettings {
  const options = withDefaults(engineOptions, checked('Engine', engineOptions, given));
  const { cookie, cors, httpCompression, perMessageDeflate, maxBuffered = quarterOfMemory() } = options;
  // Text that is longer cannot be read.
  const maxHttpBufferSize = Math.min(Math.floor(options.maxHttpBufferSize), constants.MAX_STRING_LENGTH);
  return {
    ...options,
    transports: transportNames.filter((name) => options.transports.includes(name)),
    maxHttpBufferSize,
    maxPacketSize: options.maxPacketSize ?? MESSAGES_IN_A_PACKET * maxHttpBufferSize,
    maxBuffered,
    maxIncoming: maxBuffered || quarterOfMemory(),
    cors: cors === true ? {} : cors,
    cookie: (cookie || undefined) && {
      name: 'io',
      path: '/',
      httpOnly: true,
      sameSite: 'lax',
      ...(cookie === true ? {} : cookie),
    },
    httpCompression: withThreshold(httpCompression),
    perMessageDeflate: withThreshold(perMessageDeflate),
  };
}

function withThreshold<T extends object>(given: boolean | T): (T & { threshold: number }) | undefined {
  return given
    ? ({ threshold: DEFAULT_THRESHOLD, ...(given === true ? undefined : given) } as T & { threshold: number })
    : undefined;
}

function quarterOfMemory(): number {
  return Math.floor(memoryLimit() / 4);
}
