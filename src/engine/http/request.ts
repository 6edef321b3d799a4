import { SocketAddress } from 'node:net';
import { clientAddress } from '../limits/address-limits.js';
import { LazyEventEmitter } from '../session/compact-emitter.js';
import type { HttpRequest, HttpResponse } from '../uws/app.js';

/** The properties of a request's connection that applications read. */
export interface RequestConnection {
  remoteAddress: string;
  /** Whether the connection is TLS. */
  encrypted: boolean;
}

/** The parts of a request as plain data, which the relay sends between workers. */
export interface RequestParts {
  method: string;
  url: string;
  headers: Record<string, string>;
  remoteAddress: string;
  encrypted: boolean;
  /** What node:http has read; missing if uWebSockets.js has. */
  raw?: RawRequest;
}

interface RawRequest {
  /** Names and values alternate. */
  headers: string[];
  httpVersion: string;
}

/**
 * A request as applications and Connect middleware see it: the part of node:http's IncomingMessage that they read. It
 * is a copy, because a uWebSockets.js request is invalid after its handler returns. The request of a handshake emits
 * `close` when its session ends.
 */
export class EngineRequest extends LazyEventEmitter {
  readonly method: string;
  /** Path and query, as in node:http. */
  url: string;
  readonly headers: Record<string, string | undefined>;
  connection: RequestConnection;
  /** The query's parameters by name. If one is repeated, the last one counts. */
  readonly _query: Record<string, string>;
  /** The response; set while it can still be written. */
  res: unknown;

  constructor(parts: RequestParts, connection = connectionOf(parts.remoteAddress, parts.encrypted)) {
    super();
    this.method = parts.method;
    this.url = parts.url;
    this.headers = parts.headers;
    this.connection = connection;
    this._query = queryOf(parts.url);
  }

  /** The connection under its other names in node:http. */
  get socket(): RequestConnection {
    return this.connection;
  }

  get client(): RequestConnection {
    return this.connection;
  }

  /** Names and values alternate. Names are in lower case, because uWebSockets.js does not keep their original case. */
  get rawHeaders(): string[] {
    return Object.entries(this.headers).flatMap(([name, value]) => (value === undefined ? [] : [name, value]));
  }

  get httpVersion(): string {
    return '1.1';
  }

  get httpVersionMajor(): number {
    return Number.parseInt(this.httpVersion, 10);
  }

  get httpVersionMinor(): number {
    return Number(this.httpVersion.split('.')[1] ?? 0);
  }

  /** The values of each header. Those of one that was repeated are joined. */
  get headersDistinct(): Record<string, string[]> {
    const distinct: Record<string, string[]> = Object.create(null);
    for (const [name, value] of Object.entries(this.headers)) if (value !== undefined) distinct[name] = [value];
    return distinct;
  }

  /** The request as plain data. */
  toParts(): RequestParts {
    return {
      method: this.method,
      url: this.url,
      headers: this.headers as Record<string, string>,
      // A connection on a Unix socket has no address.
      remoteAddress: this.connection.remoteAddress ?? '',
      encrypted: this.connection.encrypted === true,
    };
  }
}

/** The names of headers as their client has sent them. Each stands for one property of the request's headers. */
class HeaderNames {
  private readonly keys: readonly string[];

  constructor(
    readonly names: readonly string[],
    readonly httpVersion: string,
  ) {
    this.keys = names.map((name) => name.toLowerCase());
  }

  /** Whether the headers can be told from the names: none is repeated, or missing in them. */
  fit(headers: object): boolean {
    return new Set(this.keys).size === this.keys.length && this.keys.every((key) => Object.hasOwn(headers, key));
  }

  areIn({ headers, httpVersion }: RawRequest): boolean {
    const { names } = this;
    if (headers.length !== 2 * names.length || httpVersion !== this.httpVersion) return false;
    for (let index = 0; index < names.length; index++) if (headers[2 * index] !== names[index]) return false;
    return true;
  }

  with(headers: EngineRequest['headers']): string[] {
    return this.keys.flatMap((key, index) => {
      const value = headers[key];
      return value === undefined ? [] : [this.names[index]!, value];
    });
  }
}

let lastNames = new HeaderNames([], '');

/** Most clients send headers with the same names in the same order, and share them. Repeated headers are kept as they are. */
function namesOf(raw: RawRequest, headers: object): HeaderNames | RawRequest {
  if (lastNames.areIn(raw)) return lastNames;
  const names = new HeaderNames(
    raw.headers.filter((_, index) => index % 2 === 0),
    raw.httpVersion,
  );
  if (!names.fit(headers)) return raw;
  lastNames = names;
  return names;
}

/** A request that node:http has read, with what only node:http knows of it. */
class MessageRequest extends EngineRequest {
  readonly #raw: HeaderNames | RawRequest;

  constructor(parts: RequestParts, raw: RawRequest, connection?: RequestConnection) {
    super(parts, connection);
    this.#raw = namesOf(raw, parts.headers);
  }

  override get rawHeaders(): string[] {
    return this.#raw instanceof HeaderNames ? this.#raw.with(this.headers) : this.#raw.headers;
  }

  override get httpVersion(): string {
    return this.#raw.httpVersion;
  }

  override toParts(): RequestParts {
    const { rawHeaders: headers, httpVersion } = this;
    return { ...super.toParts(), raw: { headers, httpVersion } };
  }
}

/** @param connection the client's connection, if it is in this process, and no proxy's */
export function requestOf(parts: RequestParts, connection?: RequestConnection): EngineRequest {
  return parts.raw ? new MessageRequest(parts, parts.raw, connection) : new EngineRequest(parts, connection);
}

/** A header whose value differs for each client. */
export const OF_ONE_CLIENT = 'sec-websocket-key';

/** Headers of which node:http drops all but the first. A repeated length makes a request ambiguous, and is seen elsewhere. */
const SINGLE: ReadonlySet<string> = new Set([
  ...['age', 'authorization', 'content-type', 'etag', 'expires', 'from', 'host', 'if-modified-since', 'location'],
  ...['if-unmodified-since', 'last-modified', 'max-forwards', 'proxy-authorization', 'referer', 'retry-after'],
  ...['server', 'user-agent'],
]);

const BEYOND_ASCII = /[\u0080-\uffff]/;

/** uWebSockets.js decodes values as UTF-8, and node:http as one character per byte. */
const perByte = (value: string): string => (BEYOND_ASCII.test(value) ? Buffer.from(value).toString('latin1') : value);

/**
 * Copies a uWebSockets.js request. Call it before anything asynchronous happens.
 * @param trustProxy the number of trusted proxies that the request has passed
 */
export function readRequest(res: HttpResponse, req: HttpRequest, encrypted: boolean, trustProxy = 0): EngineRequest {
  const headers: Record<string, string> = {};
  req.forEach((name, raw) => {
    const key = intern(name);
    const value = perByte(raw);
    const before = headers[key];
    // As in node:http, repeated headers are joined, and cookies with a semicolon.
    if (key === OF_ONE_CLIENT) headers[key] = value;
    // A property that every object has, such as `constructor`, is no earlier header.
    else if (typeof before !== 'string') headers[key] = intern(value);
    else if (!SINGLE.has(key)) headers[key] = before + (key === 'cookie' ? '; ' : ', ') + value;
  });
  const query = req.getQuery();
  return new EngineRequest({
    method: req.getMethod().toUpperCase(),
    url: intern(query ? `${req.getUrl()}?${query}` : req.getUrl()),
    headers,
    remoteAddress: intern(clientAddress(addressOf(res), headers['x-forwarded-for'], trustProxy)),
    encrypted,
  });
}

/**
 * The address of the client in the notation of node:net: `127.0.0.1`, `::1`, or `::ffff:127.0.0.1` on a dual socket.
 */
export function addressOf(res: HttpResponse): string {
  const bytes = new Uint8Array(res.getRemoteAddress());
  // The client has already disconnected, so its address is unknown.
  if (bytes.length === 0) return '';
  if (bytes.length === 4) return intern(`${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`);
  const address = Buffer.from(res.getRemoteAddressAsText()).toString();
  return new SocketAddress({ address, family: 'ipv6' }).address;
}

let lastUrl: string | undefined;
let lastQuery: Record<string, string> = {};

/** Clients that start on WebSocket all request the same URL. Each gets its own object, which may be changed. */
function queryOf(url: string): Record<string, string> {
  if (url !== lastUrl) {
    lastQuery = parseQuery(url);
    lastUrl = url;
  }
  return { ...lastQuery };
}

function parseQuery(url: string): Record<string, string> {
  const mark = url.indexOf('?');
  const query: Record<string, string> = {};
  if (mark === -1) return query;
  const text = url.slice(mark + 1);
  if (/[%+]|__proto__/.test(text)) {
    // A question mark at its beginning would be left out.
    return Object.fromEntries(new URLSearchParams(`?${text}`));
  }
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    if (equals === -1) query[pair] = '';
    else query[intern(pair.slice(0, equals))] = intern(pair.slice(equals + 1));
  }
  return query;
}

const MAX_INTERNED = 2048;
const MAX_INTERNED_LENGTH = 256;
const interned = new Map<string, string>();

/** Returns one string object for equal strings. Most clients send the same headers, and each session keeps its own. */
export function intern(text: string): string {
  if (text.length > MAX_INTERNED_LENGTH) return text;
  const known = interned.get(text);
  if (known !== undefined) return known;
  // Values that differ for every client would fill the table. It is cleared, and frequent values soon return.
  if (interned.size >= MAX_INTERNED) interned.clear();
  interned.set(text, text);
  return text;
}

/** The properties of a net.Socket that applications read, for a connection of uWebSockets.js. */
class Connection implements RequestConnection {
  constructor(
    readonly remoteAddress: string,
    readonly encrypted: boolean,
  ) {}

  get remoteFamily(): 'IPv4' | 'IPv6' {
    return this.remoteAddress.includes(':') ? 'IPv6' : 'IPv4';
  }

  /** A private property of node:net, from which applications take the address. */
  get _peername(): { address: string; family: string } {
    return { address: this.remoteAddress, family: this.remoteFamily };
  }
}

let lastConnection: RequestConnection | undefined;

/** Clients behind one proxy share an address, and therefore an object. It is frozen because it is shared. */
function connectionOf(remoteAddress: string, encrypted: boolean): RequestConnection {
  if (lastConnection?.remoteAddress !== remoteAddress || lastConnection.encrypted !== encrypted) {
    lastConnection = Object.freeze(new Connection(remoteAddress, encrypted));
  }
  return lastConnection;
}
