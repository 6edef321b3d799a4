import { type HandshakeError, handshakeErrors } from '../../base/errors.js';
import type { Session } from '../session/session.js';
import { startsWithUpgrade } from '../transports/registry.js';
import type { TransportName } from '../transports/transport.js';
import type { EngineRequest } from './request.js';

/** Why a request is rejected: the error for the client, and further details for the `connection_error` event. */
export interface Refusal {
  error: HandshakeError;
  context: Record<string, unknown>;
}

/** Characters that RFC 9110, section 5.5, forbids in a header's value. */
const FORBIDDEN_IN_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Checks a request before it reaches its session, or a handshake if it names no session. The checks and their order are
 * those of engine.io. Source: Engine.IO v4, "Protocol" and "Handshake".
 */
export function verify(
  request: EngineRequest,
  isUpgrade: boolean,
  transports: readonly string[],
  sessions: ReadonlyMap<string, Session>,
): Refusal | undefined {
  const { sid, transport } = request._query;
  if (!transport || !transports.includes(transport)) {
    return { error: handshakeErrors.UNKNOWN_TRANSPORT, context: { transport } };
  }
  const { origin } = request.headers;
  // CORS would write the value back to the client.
  if (origin !== undefined && FORBIDDEN_IN_HEADER.test(origin)) {
    request.headers.origin = undefined;
    return badRequest({ name: 'INVALID_ORIGIN', origin });
  }
  if (sid) {
    const session = sessions.get(sid);
    if (!session) return { error: handshakeErrors.UNKNOWN_SID, context: { sid } };
    const previousTransport = session.transport.name;
    if (!isUpgrade && previousTransport !== transport) {
      return badRequest({ name: 'TRANSPORT_MISMATCH', transport, previousTransport });
    }
  } else if (request.method !== 'GET') {
    return { error: handshakeErrors.BAD_HANDSHAKE_METHOD, context: { method: request.method } };
  }
  // A WebSocket starts with an upgrade, and polling never does.
  const needsUpgrade = startsWithUpgrade[transport as TransportName];
  return needsUpgrade === isUpgrade ? undefined : badRequest({ name: 'TRANSPORT_HANDSHAKE_ERROR' });
}

function badRequest(context: Record<string, unknown>): Refusal {
  return { error: handshakeErrors.BAD_REQUEST, context };
}
