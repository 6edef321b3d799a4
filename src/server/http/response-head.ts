/** The head of a response that node:http has written, in the form that uWebSockets.js needs. */
export interface ResponseHead {
  /** For example `200 OK`. */
  readonly status: string;
  /** Names and values alternate. Headers that uWebSockets.js writes itself are left out. */
  readonly headers: readonly string[];
  /** The length of the body, if it is known. */
  readonly length: number | undefined;
  /** Whether the connection is closed after the response. */
  readonly isLast: boolean;
  /** Whether responses with this status have no body. */
  readonly isBodiless: boolean;
  /** Bytes that may start the body, so that the head is sent before there is any data; empty for most responses. */
  readonly opening: Buffer;
}

const NO_OPENING = Buffer.alloc(0);

/**
 * uWebSockets.js sends a head only with the first part of the body, so flushing the head would not open an event stream
 * before its first event. This comment, which clients ignore, opens it. Source: HTML standard, section 9.2.6.
 */
const EVENT_STREAM_OPENING = Buffer.from(':\n\n');

/** uWebSockets.js closes a connection after 10 s of idleness, and does not know `keepAliveTimeout`. */
const MAX_KEEP_ALIVE_SECONDS = 9;

/** The headers that uWebSockets.js writes itself. */
const ownHeaders = new Set(['content-length', 'transfer-encoding', 'date']);

/**
 * Parses a head, which ends in an empty line.
 * @param mustEnd whether the connection ends with the response, whatever the application wants
 */
export function parseHead(text: string, mustEnd = false): ResponseHead {
  const lines = text.split('\r\n');
  const status = lines[0]!.slice(lines[0]!.indexOf(' ') + 1);
  const headers: string[] = [];
  let length: number | undefined;
  let isLast = false;
  let isEventStream = false;
  let isCompressed = false;
  let hasTrailers = false;
  for (let index = 1; index < lines.length; index++) {
    const line = lines[index]!;
    const colon = line.indexOf(':');
    if (colon === -1) continue;
    const name = line.slice(0, colon);
    const key = name.toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (key === 'content-length') length = Number(value);
    if (key === 'content-type' && value.startsWith('text/event-stream')) isEventStream = true;
    if (key === 'content-encoding') isCompressed = true;
    if (ownHeaders.has(key)) continue;
    if (key === 'connection' && value.toLowerCase() === 'close') isLast = true;
    if (key === 'trailer') hasTrailers = true;
    headers.push(name, key === 'keep-alive' ? keepAlive(value) : value);
  }
  // uWebSockets.js cannot end a body with trailers, so the connection ends with it.
  if (!isLast && (mustEnd || (hasTrailers && length === undefined))) {
    isLast = true;
    close(headers);
  }
  const code = status.slice(0, 3);
  return {
    status,
    headers,
    length,
    isLast,
    isBodiless: code === '204' || code === '304',
    // In a compressed stream, the comment would have to be compressed too.
    opening: isEventStream && !isCompressed ? EVENT_STREAM_OPENING : NO_OPENING,
  };
}

/** Announces that the connection is closed. */
function close(headers: string[]): void {
  for (let index = headers.length - 2; index >= 0; index -= 2) {
    if (/^(?:connection|keep-alive)$/i.test(headers[index]!)) headers.splice(index, 2);
  }
  headers.push('Connection', 'close');
}

/** A client must not reuse a connection that is about to be closed. */
function keepAlive(value: string): string {
  return value.replace(
    /timeout=(\d+)/,
    (_text, seconds) => `timeout=${Math.min(Number(seconds), MAX_KEEP_ALIVE_SECONDS)}`,
  );
}
