import { type HandshakeError, handshakeErrors } from '../errors.js';
import type { EngineRequest } from './request.js';

/** Why a request is not let in: the error for the client, and what the `connection_error` event adds to it. */
export interface Refusal {
  error: HandshakeError;
  context: Record<string, unknown>;
}

/** Characters that RFC 9110, section 5.5 forbids in a header's value. */
const FORBIDDEN_IN_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

/** An origin that is no header value would be written back to the client by CORS. */
export function checkOrigin(request: EngineRequest): Refusal | undefined {
  const { origin } = request.headers;
  if (origin === undefined || !FORBIDDEN_IN_HEADER.test(origin)) return undefined;
  request.headers.origin = undefined;
  return { error: handshakeErrors.BAD_REQUEST, context: { name: 'INVALID_ORIGIN', origin } };
}

/** A new session starts with a GET, and with an upgrade where it starts on WebSocket. */
export function checkHandshake(request: EngineRequest, isUpgrade: boolean): Refusal | undefined {
  if (request.method !== 'GET') {
    return { error: handshakeErrors.BAD_HANDSHAKE_METHOD, context: { method: request.method } };
  }
  if (request._query.transport === 'websocket' && !isUpgrade) {
    return { error: handshakeErrors.BAD_REQUEST, context: { name: 'TRANSPORT_HANDSHAKE_ERROR' } };
  }
  return undefined;
}
