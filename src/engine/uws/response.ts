import { connections, type ResponseHeaders, statusLine } from '../http/exchange.js';
import type { HttpResponse } from './app.js';

export interface Response {
  status: number;
  headers: ResponseHeaders;
  body: string | Uint8Array;
}

export interface ResponseMode {
  /** Whether the request was a HEAD, whose response has no body. */
  isHead: boolean;
  /** Whether the client asked for the connection to be closed, which uWebSockets.js then does. */
  isFlagged: boolean;
  /** Whether the connection must not be read after this request. */
  isLast: boolean;
  /** Whether the client must not use the connection again. */
  endsConnection: boolean;
  /** Whether all of the request has arrived. */
  isRequestWhole: boolean;
}

/** Longer bodies are not written in one piece: uWebSockets.js would buffer the part that a slow client does not read. */
const MAX_WHOLE_LENGTH = 65_536;

/**
 * Writes a response; no other code does so. The part that the client does not read at once is not buffered, but written
 * when the client reads on. If the next request arrives before the response is complete, uWebSockets.js closes the
 * connection. A connection therefore never holds more than one response.
 * @param onWritten called once the whole response is written; not called if the client disconnects earlier
 * @returns how many bytes are kept until then
 */
export function writeResponse(
  res: HttpResponse,
  { status, headers, body }: Response,
  { isHead, isFlagged, isLast: mustEnd, endsConnection, isRequestWhole }: ResponseMode,
  onWritten: () => void,
): number {
  let kept = 0;
  const hasNoBody = status === 304 || isHead;
  // A connection that is closed while bytes arrive is reset, and the client may never read the response.
  const mayEnd = isRequestWhole && !hasNoBody && body.length <= MAX_WHOLE_LENGTH;
  const isLast = connections.areEnding || mustEnd || (endsConnection && mayEnd);
  res.cork(() => {
    res.writeStatus(statusLine(status));
    writeHeaders(res, headers);
    // When uWebSockets.js closes because the client asked for it, it does so without this header. Some clients would then
    // send a request into the closing connection. A proxy closes a connection itself after a response with this header.
    if (isFlagged || (endsConnection && !isLast)) res.writeHeader('Connection', 'close');
    if (hasNoBody) {
      endWithoutBody(res, status, Buffer.byteLength(body), isLast);
      onWritten();
    } else if (isLast || body.length === 0) {
      res.end(body, isLast);
      onWritten();
    } else {
      kept = writeBody(res, body, onWritten);
    }
  });
  return kept;
}

function writeBody(res: HttpResponse, body: string | Uint8Array, onWritten: () => void): number {
  const total = Buffer.byteLength(body);
  const [, isDone] = res.tryEnd(body, total);
  if (isDone) {
    onWritten();
    return 0;
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  res.onWritable((offset) => {
    const [isWritten, isWhole] = res.tryEnd(bytes.subarray(offset), total);
    if (isWhole) onWritten();
    return isWritten;
  });
  return total;
}

/** @param length the length that the body would have */
function endWithoutBody(res: HttpResponse, status: number, length: number, isLast: boolean): void {
  if (isLast) {
    // With a length, uWebSockets.js treats the response as unfinished and serves no other request on the connection.
    // Without an abort handler, the process would end when the client disconnects.
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
