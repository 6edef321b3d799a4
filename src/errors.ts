/**
 * Every error that gjallar answers with, in one list.
 *
 * `message` says what is wrong and what to do about it. `status` is the HTTP status it is sent with, where it is sent
 * over HTTP. The six errors of the Engine.IO handshake have numbers and fixed messages, because clients know them.
 */

/** An error of the Engine.IO handshake. */
export interface HandshakeError {
  /** The number clients know. */
  readonly code: number;
  readonly status: number;
  readonly message: string;
}

/** Source: Engine.IO v4, as engine.io answers; the protocol leaves the body open. */
export const handshakeErrors = {
  UNKNOWN_TRANSPORT: { code: 0, status: 400, message: 'Transport unknown' },
  UNKNOWN_SID: { code: 1, status: 400, message: 'Session ID unknown' },
  BAD_HANDSHAKE_METHOD: { code: 2, status: 400, message: 'Bad handshake method' },
  BAD_REQUEST: { code: 3, status: 400, message: 'Bad request' },
  FORBIDDEN: { code: 4, status: 403, message: 'Forbidden' },
  UNSUPPORTED_PROTOCOL_VERSION: { code: 5, status: 400, message: 'Unsupported protocol version' },
  // Not engine.io's.
  ORIGIN_FORBIDDEN: { code: 4, status: 403, message: 'Forbidden' },
  TOO_MANY_CONNECTIONS: { code: 6, status: 429, message: 'Too many connections from this address' },
  RATE_LIMITED: { code: 7, status: 429, message: 'Too many new connections from this address' },
} as const satisfies Record<string, HandshakeError>;

const list = {
  BAD_INPUT: { status: 400, message: 'The input is not of the expected form; see the description of the event.' },
  BAD_ROOM: {
    status: 400,
    message: 'A room name is a string of 1 to 128 characters without control characters or lone surrogates.',
  },
  BAD_TEXT: { status: 400, message: 'The text must be a string of 1 to 10,000 characters without lone surrogates.' },
  BAD_NAME: {
    status: 400,
    message:
      'A name is a string of 1 to 64 characters without control characters or lone surrogates; send it as auth.name.',
  },
  TOKEN_MISSING: { status: 401, message: 'This server asks for a token; send it as auth.token.' },
  TOKEN_INVALID: {
    status: 401,
    message:
      'The token is none that this server accepts: its form, signature, algorithm or time is wrong; get another.',
  },
  TOKEN_EXPIRED: { status: 401, message: 'The token has expired; get a new one.' },
  TOKEN_ISSUER: { status: 401, message: 'The token is of an issuer whom this server does not accept (JWT_ISSUER).' },
  TOKEN_AUDIENCE: { status: 401, message: 'The token is meant for another audience (JWT_AUDIENCE).' },
  TOKEN_OTHER_USER: { status: 403, message: 'The new token is of another user; connect anew with it.' },
  TOKENS_OFF: { status: 404, message: 'This server asks for no tokens; its operator can change that with JWT_SECRET.' },
  ACCOUNTS_UNAVAILABLE: {
    status: 503,
    message: 'The token cannot be checked because its keys cannot be had (JWKS_URL); try again later.',
  },
  ROOM_FORBIDDEN: { status: 403, message: 'The token does not allow this in this room; get one whose rooms name it.' },
  NOT_IN_ROOM: { status: 403, message: 'Join the room before you send to it.' },
  TOO_MANY_ROOMS: { status: 403, message: 'Leave a room before you join another one.' },
  BAD_PAGE: {
    status: 400,
    message: 'A page is asked for with after or before (integers from 0 on) and limit (1 to 1000).',
  },
  HISTORY_OFF: { status: 404, message: 'This server keeps no history; its operator can turn it on with HISTORY_TTL.' },
  HISTORY_UNAVAILABLE: { status: 503, message: 'The history cannot be reached, so nothing was kept; try again.' },
  HISTORY_REFUSED: { status: 503, message: 'The history refused to keep the message; try again later.' },
  HISTORY_UNCERTAIN: {
    status: 503,
    message:
      'The history did not answer in time: the message may or may not be kept; look for it before you repeat it.',
  },
  OVERLOADED: {
    status: 503,
    message: 'The server has too many messages waiting for the history, so this one was not kept. Send it again later.',
  },
  BAD_BATCH: {
    status: 400,
    message: 'A batch is { "messages": [ … ] } with 1 to 100 messages of the form { "text": "…" }.',
  },
  BAD_FRAME: { status: 400, message: 'A plain WebSocket takes text messages; binary ones are refused.' },
  BAD_KEY: { status: 400, message: 'Idempotency-Key takes 1 to 200 printable ASCII characters.' },
  KEY_REUSED: {
    status: 422,
    message: 'This Idempotency-Key came with other messages before; nothing was said. Use another key.',
  },
  BAD_JSON: { status: 400, message: 'The body must be a JSON object in UTF-8; see /api/openapi.json.' },
  BODY_TOO_LARGE: {
    status: 413,
    message: 'The body is larger than the server takes (MAX_PAYLOAD); send the messages in several batches.',
  },
  METHOD_NOT_ALLOWED: { status: 405, message: 'This address does not take that method; see /api/openapi.json.' },
  API_OFF: {
    status: 404,
    message: 'The HTTP API is off; the operator of the server turns it on with API_KEY, or with accounts (JWT_SECRET).',
  },
  UNAUTHORIZED: { status: 401, message: 'Send the API key, or a token, in the header Authorization: Bearer <key>.' },
  ADMIN_ONLY: {
    status: 401,
    message: 'This is for the operator: send ADMIN_USER and ADMIN_PASSWORD as HTTP basic authentication.',
  },
  ADMIN_OFF: {
    status: 404,
    message: 'This is for the operator, and there is none: ADMIN_USER and ADMIN_PASSWORD make one.',
  },
  BAD_CONFIG: { status: 500, message: 'The configuration has a bad value; gjallar --help lists what is accepted.' },
  NOT_FOUND: { status: 404, message: 'There is nothing at this address.' },
  ORIGIN_FORBIDDEN: {
    status: 403,
    message: 'Pages of this origin may not connect; the operator of the server can allow it with CORS_ORIGIN.',
  },
  TOO_MANY_CONNECTIONS: {
    status: 429,
    message: 'This address has as many connections as it may have (MAX_CONNECTIONS_PER_IP); close one of them.',
  },
  RATE_LIMITED: { status: 429, message: 'Too much came in a short time (RATE_LIMIT); wait before you try again.' },
  SLOW_CLIENT: {
    status: 503,
    message: 'Too much waits for this client, which reads too slowly; connect again, and ask for what was missed.',
  },
  INTERNAL: { status: 500, message: 'The server failed; try again, and look into its log if it fails again.' },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof list;

/** The documented codes with their HTTP status and message. */
export const errorCodes: Readonly<Record<ErrorCode, { readonly status: number; readonly message: string }>> = list;

/** What plain WebSockets are closed with, where it is not 1008, "policy violation" (RFC 6455, section 7.4.1). */
const closeCodes: Partial<Record<ErrorCode, number>> = {
  BAD_FRAME: 1003,
  BAD_TEXT: 1009,
  INTERNAL: 1011,
  ACCOUNTS_UNAVAILABLE: 1013,
  SLOW_CLIENT: 1013,
  HISTORY_UNAVAILABLE: 1013,
  HISTORY_REFUSED: 1013,
  HISTORY_UNCERTAIN: 1013,
  OVERLOADED: 1013,
};

/** The code of the close frame that an error is told with; its reason is the error's own code. */
export function closeCodeOf(code: ErrorCode): number {
  return closeCodes[code] ?? 1008;
}

/** An error with a code from the one list. */
export class GjallarError extends Error {
  readonly code: ErrorCode;
  readonly status: number;

  /**
   * @param code one of {@link errorCodes}
   * @param message what exactly is wrong, where the list's own message can be made more precise
   */
  constructor(code: ErrorCode, message: string = list[code].message) {
    super(message);
    this.name = 'GjallarError';
    this.code = code;
    this.status = list[code].status;
  }
}
