import type { HttpRequest } from 'uWebSockets.js';

/** A request that uWebSockets.js has parsed. */
export interface RawRequest {
  readonly method: string;
  readonly url: string;
  /** Names and values alternate. Names are in lower case, because uWebSockets.js does not keep their original case. */
  readonly rawHeaders: string[];
  /** Whether the client asks to close the connection afterwards. */
  readonly isLast: boolean;
}

/** Copies a request, which is invalid after its handler returns. */
export function copyRequest(req: HttpRequest): RawRequest {
  const rawHeaders: string[] = [];
  req.forEach((name, value) => {
    rawHeaders.push(name, value);
  });
  const query = req.getQuery();
  const url = req.getUrl();
  return {
    method: req.getCaseSensitiveMethod().toUpperCase(),
    url: query ? `${url}?${query}` : url,
    rawHeaders,
    isLast: req.getHeader('connection') === 'close',
  };
}

/** The framing of a request's body. */
export type Framing = 'none' | 'body' | 'ambiguous';

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
