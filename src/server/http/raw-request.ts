import { METHODS } from 'node:http';
import { endsConnection, isHeaderOfProxies, type KeepAlive } from '../../engine/http/keep-alive.js';
import type { HttpRequest } from '../../sockets.js';

/** A request that uWebSockets.js has parsed. */
export interface RawRequest {
  readonly method: string;
  readonly url: string;
  /** Names and values alternate. Names are in lower case, because uWebSockets.js does not keep their original case. */
  readonly rawHeaders: string[];
  /** Whether uWebSockets.js closes the connection after the response, because of the header `Connection`. */
  readonly isFlagged: boolean;
  /** Whether the connection must be closed after the response, and not be read until then. */
  readonly isLast: boolean;
  /** Whether the client must not use the connection again. What it has sent on it may be served. */
  readonly endsConnection: boolean;
  readonly isChunked: boolean;
  readonly framing: Framing;
}

/** The framing of a request's body. */
export type Framing = 'none' | 'body' | 'ambiguous';

const methods = new Set(METHODS);

/** Copies a request, which is invalid after its handler returns. */
export function copyRequest(req: HttpRequest, keepAlive: KeepAlive): RawRequest {
  const rawHeaders: string[] = [];
  let isProxied = false;
  req.forEach((name, value) => {
    rawHeaders.push(name, value);
    if (isHeaderOfProxies(name)) isProxied = true;
  });
  const query = req.getQuery();
  const url = req.getUrl();
  const connection = req.getHeader('connection');
  // uWebSockets.js looks at the length of the header alone.
  const isFlagged = connection.length === 5;
  const framing = framingOf({ rawHeaders });
  const isChunked = req.getHeader('transfer-encoding') !== '';
  return {
    method: req.getCaseSensitiveMethod(),
    url: query ? `${url}?${query}` : url,
    rawHeaders,
    isFlagged,
    // uWebSockets.js reports the end of a body in chunks before it has seen the trailers, and parses them as a request.
    isLast: isFlagged || isChunked || closing.test(connection),
    endsConnection: endsConnection(keepAlive, isProxied),
    isChunked,
    framing,
  };
}

const closing = /(?:^|,)\s*close\s*(?:,|$)/i;

/** Whether the request is one that a server must not handle. Source: RFC 9110, section 9.1, and RFC 9112, section 3.2. */
export function isMalformed({ method, rawHeaders, framing }: RawRequest): boolean {
  if (framing === 'ambiguous' || !methods.has(method)) return true;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) if (rawHeaders[index] === 'host') hosts++;
  return hosts !== 1;
}

/**
 * Whether a body follows the head, and whether a proxy and uWebSockets.js could disagree on its end. Source: RFC 9112,
 * section 6.3.
 */
export function framingOf({ rawHeaders }: Pick<RawRequest, 'rawHeaders'>): Framing {
  let framing: Framing = 'none';
  let lengths = 0;
  let codings = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    const value = rawHeaders[index + 1]!;
    if (name === 'content-length') {
      lengths++;
      if (!/^\d+$/.test(value)) return 'ambiguous';
      if (Number(value) > 0) framing = 'body';
    } else if (name === 'transfer-encoding') {
      codings++;
      framing = 'body';
      if (value.toLowerCase() !== 'chunked') return 'ambiguous';
    }
  }
  return lengths + codings > 1 ? 'ambiguous' : framing;
}
