/**
 * Every error that gjallar returns, in one list.
 *
 * `message` says what happened, why, and what to do. `status` is the HTTP status of errors that are sent over HTTP.
 * Clients know the errors of the Engine.IO handshake by number, so these keep engine.io's numbers and messages.
 */

/** An error of the Engine.IO handshake. */
export interface HandshakeError {
  /** The number that clients know. */
  readonly code: number;
  readonly status: number;
  readonly message: string;
}

/** Source: engine.io's answers. The Engine.IO protocol does not specify the response body. */
export const handshakeErrors = {
  UNKNOWN_TRANSPORT: { code: 0, status: 400, message: 'Transport unknown' },
  UNKNOWN_SID: { code: 1, status: 400, message: 'Session ID unknown' },
  BAD_HANDSHAKE_METHOD: { code: 2, status: 400, message: 'Bad handshake method' },
  BAD_REQUEST: { code: 3, status: 400, message: 'Bad request' },
  FORBIDDEN: { code: 4, status: 403, message: 'Forbidden' },
  UNSUPPORTED_PROTOCOL_VERSION: { code: 5, status: 400, message: 'Unsupported protocol version' },
  // engine.io does not have these.
  ORIGIN_FORBIDDEN: { code: 4, status: 403, message: 'Forbidden' },
  TOO_MANY_CONNECTIONS: { code: 6, status: 429, message: 'Too many connections from this address' },
  RATE_LIMITED: { code: 7, status: 429, message: 'Too many new connections from this address' },
  OVERLOADED: { code: 8, status: 503, message: 'The server is overloaded' },
} as const satisfies Record<string, HandshakeError>;

interface ListedError {
  readonly status: number;
  readonly message: string;
}

/** Its type has the codes alone, so that declarations have no messages. */
const listed = <Code extends string>(errors: Readonly<Record<Code, ListedError>>) => errors;

/** The documented codes with their HTTP status and message. */
export const errorCodes = listed({
  BAD_INPUT: {
    status: 400,
    message: 'The input is invalid. Check its fields and types in the documentation.',
  },
  BAD_ROOM: {
    status: 400,
    message: 'Invalid room name. Use a string of 1 to 128 characters without control characters or lone surrogates.',
  },
  BAD_TEXT: { status: 400, message: 'Invalid text. Send a string of 1 to 10,000 characters without lone surrogates.' },
  BAD_NAME: {
    status: 400,
    message:
      'Invalid user name. Use a string of 1 to 64 characters without control characters, invisible characters (such as zero-width ones), no-break and other special spaces, two spaces in a row or lone surrogates; a client sets its own name with auth.name (Socket.IO) or ?name= (plain WebSocket).',
  },
  TOKEN_MISSING: {
    status: 401,
    message:
      'This server requires a token, and none was sent. Send it as auth.token (Socket.IO), ?token= (plain WebSocket) or Authorization: Bearer <token> (HTTP).',
  },
  TOKEN_INVALID: {
    status: 401,
    message:
      'This server does not accept the token: its format, signature, algorithm or validity period is wrong. Request a new one.',
  },
  TOKEN_EXPIRED: { status: 401, message: 'The token has expired. Request a new one.' },
  TOKEN_ISSUER: {
    status: 401,
    message:
      'This server does not accept tokens from this issuer (claim "iss"). Request one from the issuer that JWT_ISSUER names.',
  },
  TOKEN_AUDIENCE: {
    status: 401,
    message:
      'The token was issued for another audience (claim "aud"). Request one for the audience that JWT_AUDIENCE names.',
  },
  TOKEN_REVOKED: {
    status: 401,
    message: 'The operator has revoked the token. Request a new one.',
  },
  TOKEN_OTHER_USER: {
    status: 403,
    message:
      'The new token belongs to another user, and a connection cannot change its user. Reconnect with the new token.',
  },
  REVOCATIONS_FULL: {
    status: 503,
    message: 'This server has reached its limit of 10,000 revocations. Lift those that are no longer needed.',
  },
  TOKENS_OFF: {
    status: 404,
    message: 'This server does not use tokens. To require them, its operator sets JWT_SECRET or JWKS_URL.',
  },
  ACCOUNTS_UNAVAILABLE: {
    status: 503,
    message: 'The token cannot be checked because the server could not load the keys from JWKS_URL. Try again later.',
  },
  ROOM_FORBIDDEN: {
    status: 403,
    message: 'The token does not allow this in this room. Request a token whose "rooms" claim includes the room.',
  },
  NOT_IN_ROOM: { status: 403, message: 'You are not in this room. Join it before you send to it.' },
  TOO_MANY_ROOMS: {
    status: 403,
    message:
      'This connection is already in the maximum of rooms (chat service: 100; durable rooms: maxRooms; library: maxRoomsPerSocket, maxRoomBytesPerSocket). Leave one before you join another.',
  },
  TOO_MANY_ROOMS_IN_CALL: {
    status: 400,
    message:
      'A call such as io.to(rooms).emit() named more rooms than one call may (maxRoomsPerCall), and reached nobody. Check lists that clients send, or name fewer rooms.',
  },
  TOO_MANY_NAMESPACES: {
    status: 403,
    message:
      'This connection has, or this server has, the maximum of namespaces (maxNamespacesPerClient, maxNamespaces). Leave one before you connect to another.',
  },
  ROOM_CLOSED: {
    status: 403,
    message: 'The operator has closed this room for its members. Join it again, or ask the operator why.',
  },
  DISCONNECTED: {
    status: 403,
    message: 'The operator has ended this connection. Ask the operator why before you connect again.',
  },
  BAD_PAGE: {
    status: 400,
    message: 'Invalid page. Use "after" or "before" (integers from 0) and "limit" (1 to 1000).',
  },
  HISTORY_OFF: {
    status: 404,
    message: 'This server keeps no messages because HISTORY_TTL is 0. To keep them, its operator sets HISTORY_TTL.',
  },
  HISTORY_UNAVAILABLE: {
    status: 503,
    message: 'The history is unreachable, so nothing was stored or read. Try again.',
  },
  HISTORY_REFUSED: {
    status: 503,
    message: 'The history rejected the message, so it was not stored. Try again later; the server log has the cause.',
  },
  HISTORY_UNCERTAIN: {
    status: 503,
    message:
      'The history did not answer in time, so the message may or may not be stored. Check the history before you send it again.',
  },
  OVERLOADED: {
    status: 503,
    message: 'The server is overloaded, so it rejected the request. Try again in a few seconds.',
  },
  BAD_BATCH: {
    status: 400,
    message: 'Invalid batch. Send { "messages": [ … ] } with 1 to 100 messages of the form { "text": "…" }.',
  },
  BAD_FRAME: { status: 400, message: 'A plain WebSocket does not accept binary messages. Send text messages.' },
  BAD_KEY: { status: 400, message: 'Invalid Idempotency-Key. Use 1 to 200 printable ASCII characters.' },
  KEY_REUSED: {
    status: 422,
    message: 'This Idempotency-Key was already used for different messages, so nothing was published. Use a new key.',
  },
  BAD_JSON: {
    status: 400,
    message: 'The body is not valid JSON in UTF-8. See /api/openapi.json for the expected format.',
  },
  BODY_TOO_LARGE: {
    status: 413,
    message: 'The body is larger than this server accepts (MAX_PAYLOAD). Split the messages into several batches.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: 'This path does not support this HTTP method. See /api/openapi.json for the methods it supports.',
  },
  API_OFF: {
    status: 404,
    message:
      'The HTTP API is off. To turn it on, the operator sets API_KEY, or requires tokens with JWT_SECRET or JWKS_URL.',
  },
  UNAUTHORIZED: {
    status: 401,
    message:
      'The authorization is missing or wrong. Send the API key or a token in the header Authorization: Bearer <key>.',
  },
  ADMIN_ONLY: {
    status: 401,
    message: 'Only the operator may use this path. Send ADMIN_USER and ADMIN_PASSWORD as HTTP basic authentication.',
  },
  ADMIN_OFF: {
    status: 404,
    message:
      'This path is off because the server has no operator account. To turn it on, set ADMIN_USER and ADMIN_PASSWORD.',
  },
  BAD_CONFIG: {
    status: 500,
    message: 'The configuration has an invalid value. Run gjallar --help to see the values that each variable accepts.',
  },
  NOT_FOUND: { status: 404, message: 'There is nothing at this path. Check the URL.' },
  ORIGIN_FORBIDDEN: {
    status: 403,
    message: 'Pages from this origin may not connect. To allow them, the operator adds the origin to CORS_ORIGIN.',
  },
  TOO_MANY_CONNECTIONS: {
    status: 429,
    message:
      'This IP address has reached its limit of connections (MAX_CONNECTIONS_PER_IP). Close one before you open another.',
  },
  RATE_LIMITED: {
    status: 429,
    message: 'This client sent too much in a short time (RATE_LIMIT). Wait before you try again.',
  },
  SLOW_CLIENT: {
    status: 503,
    message:
      'This client reads too slowly, and too many bytes are waiting for it. Reconnect, and request the messages it missed.',
  },
  PACKET_TOO_LARGE: {
    status: 413,
    message:
      'A packet is larger, or has more attachments, than this server accepts (maxPacketSize, maxAttachments, maxAuthSize). Send less in one packet.',
  },
  PACKET_INCOMPLETE: {
    status: 408,
    message:
      'The attachments of a packet came too slowly, or incomplete packets used too much memory of the server. Send the packet again.',
  },
  BAD_STATE_KEY: {
    status: 400,
    message: 'Invalid key of a state room. Use a string of 1 to 256 bytes without lone surrogates.',
  },
  BAD_STATE_VALUE: {
    status: 400,
    message:
      'The value of a state room is not JSON or bytes, or is too large. Set a value that JSON.stringify() accepts.',
  },
  STATE_PATCH_SIZE: {
    status: 413,
    message:
      'The value of the key is too large to change single fields: it has more than 65,536 bytes. Set the whole value, or spread its fields over several keys.',
  },
  STATE_FULL: {
    status: 507,
    message:
      'The state room has reached its limit of keys or bytes. Delete keys, or raise its limits (chat service: STATE_MAX_KEYS and STATE_MAX_BYTES; library: maxKeys and maxBytes).',
  },
  STATE_BUSY: {
    status: 503,
    message: 'Too many members of the state room lack changes at the moment. Join again in a few seconds.',
  },
  MESSAGE_TOO_LARGE: {
    status: 413,
    message: 'A message of a durable room is larger than maxMessageBytes. Send less, or raise that option.',
  },
  EMIT_FAILED: {
    status: 503,
    message: 'An emitter lost messages. Check the connection to Redis or NATS, and emit the messages again.',
  },
  INTERNAL: { status: 500, message: 'The server failed. Try again; if it fails again, check the server log.' },
});

export type ErrorCode = keyof typeof errorCodes;

/** Close codes of plain WebSockets that differ from 1008, "policy violation" (RFC 6455, section 7.4.1). */
const closeCodes: Partial<Record<ErrorCode, number>> = {
  BAD_FRAME: 1003,
  BAD_TEXT: 1009,
  PACKET_TOO_LARGE: 1009,
  INTERNAL: 1011,
  ACCOUNTS_UNAVAILABLE: 1013,
  SLOW_CLIENT: 1013,
  PACKET_INCOMPLETE: 1013,
  HISTORY_UNAVAILABLE: 1013,
  HISTORY_REFUSED: 1013,
  HISTORY_UNCERTAIN: 1013,
  OVERLOADED: 1013,
  STATE_BUSY: 1013,
};

/** The close code that a plain WebSocket gets for an error. The close reason is the error's own code. */
export function closeCodeOf(code: ErrorCode): number {
  return closeCodes[code] ?? 1008;
}

/** An error with a code from {@link errorCodes}. */
export class GjallarError extends Error {
  readonly code: ErrorCode;
  readonly status: number;

  /**
   * @param code one of {@link errorCodes}
   * @param message replaces the message of the list where a more precise one is known
   * @param retryAfter when another try makes sense, in seconds, if that is known
   */
  constructor(
    code: ErrorCode,
    message: string = errorCodes[code].message,
    readonly retryAfter?: number,
  ) {
    super(message);
    this.name = 'GjallarError';
    this.code = code;
    this.status = errorCodes[code].status;
  }
}

/** The reply to a failed request of a client. The documentation lists the codes. */
export interface Failure {
  ok: false;
  code: ErrorCode;
  /** What happened, and what to do. */
  message: string;
}

/** An error as clients get it. @param onUnknown told of an error without a code, of which clients get INTERNAL alone */
export function failureOf(error: unknown, onUnknown?: (error: unknown) => void): Failure {
  const isKnown = error instanceof Error && 'code' in error && 'status' in error;
  if (!isKnown) onUnknown?.(error);
  const { code, message } = isKnown ? (error as GjallarError) : new GjallarError('INTERNAL');
  return { ok: false, code, message };
}

/** Another worker, machine or program sent a message that cannot be used. It is counted and dropped. */
export class MalformedMessage extends Error {
  override name = 'MalformedMessage';
}
