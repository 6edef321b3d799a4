import type { HttpResponse } from 'uWebSockets.js';
import { type ResponseHeaders, statusLine } from '../http/exchange.js';

/** The HTTP connections of this process. */
export const connections = {
  /** How many requests have not been answered in full yet. */
  waiting: 0,
  /** Whether each response is its connection's last, so that clients make new ones, to another process. */
  areEnding: false,
};

export interface Response {
  status: number;
  headers: ResponseHeaders;
  body: string | Uint8Array;
}

export interface ResponseMode {
  /** Whether the request was a HEAD: its response has no body. */
  isHead: boolean;
  /** Whether the client asked for the connection to be closed. */
  closes: boolean;
  /** Whether nothing that follows on the connection is to be read. */
  isLast: boolean;
}

/**
 * Writes a response; the one place that does so. What the client does not take at once is not buffered, but written when
 * it reads on. Until then uWebSockets.js serves no other request of the connection: it ends a connection on which the
 * next one arrives before the response is complete. So a connection never holds more than one response.
 * @param onComplete called once the whole response is handed over; not where the client goes away before
 */
export function writeResponse(
  res: HttpResponse,
  { status, headers, body }: Response,
  { isHead, closes, isLast }: ResponseMode,
  onComplete: () => void,
): void {
  res.cork(() => {
    res.writeStatus(statusLine(status));
    writeHeaders(res, headers);
    // uWebSockets.js closes then, and does not say so: some clients would send their next request into the closing.
    if (closes) res.writeHeader('Connection', 'close');
    if (status === 304 || isHead) {
      endWithoutBody(res, status, Buffer.byteLength(body), connections.areEnding || isLast);
      onComplete();
    } else if (connections.areEnding || isLast || body.length === 0) {
      res.end(body, connections.areEnding || isLast);
      onComplete();
    } else {
      writeBody(res, body, onComplete);
    }
  });
}

function writeBody(res: HttpResponse, body: string | Uint8Array, onComplete: () => void): void {
  const total = Buffer.byteLength(body);
  const [, isDone] = res.tryEnd(body, total);
  if (isDone) return onComplete();
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  res.onWritable((offset) => {
    const [isWritten, isWhole] = res.tryEnd(bytes.subarray(offset), total);
    if (isWhole) onComplete();
    return isWritten;
  });
}

/** `length` is what the body would have had. */
function endWithoutBody(res: HttpResponse, status: number, length: number, isLast: boolean): void {
  if (isLast) {
    // With a length here uWebSockets.js takes the response for unfinished: no other request is served on the connection,
    // and the process ends when the client leaves without being told.
    res.onAborted(() => {});
    res.endWithoutBody(length, true);
  } else if (status === 304) {
    res.endWithoutBody();
  } else {
    res.writeHeader('Content-Length', String(length)).endWithoutBody();
  }
}

export function writeHeaders(res: HttpResponse, headers: ResponseHeaders): void {
  for (const [name, value] of Object.entries(headers)) {
    // uWebSockets.js writes the length itself.
    if (name.toLowerCase() === 'content-length') continue;
    if (Array.isArray(value)) for (const one of value) res.writeHeader(name, one);
    else res.writeHeader(name, String(value));
  }
}
