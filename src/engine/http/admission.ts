import { type HandshakeError, handshakeErrors } from '../../base/errors.js';
import type { EngineCounters } from '../counters.js';
import type { AddressLimits } from '../limits/address-limits.js';
import type { LoadMonitor } from '../limits/load-monitor.js';
import { isForeign } from '../limits/origin.js';
import type { EngineSettings } from '../options.js';
import type { Session } from '../session/session.js';
import { startsWithUpgrade } from '../transports/registry.js';
import type { TransportName } from '../transports/transport.js';
import { noteMiddleware } from './additions.js';
import type { HttpExchange } from './exchange.js';
import { answered, applyMiddleware, type Middleware, respond, responseOf } from './middleware.js';
import type { EngineRequest } from './request.js';

const refusalHeaders = { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' };

/** Admits or rejects requests: by the middleware first, then by the protocol's checks, then by `allowRequest`. */
export class Admission {
  readonly middleware: Middleware[] = [];

  /**
   * @param addresses limits for each address; undefined without limits
   * @param emit reports each rejected request, as the engine's event `connection_error`
   */
  constructor(
    private readonly settings: EngineSettings,
    private readonly sessions: ReadonlyMap<string, Session>,
    private readonly addresses: AddressLimits | undefined,
    private readonly load: LoadMonitor,
    private readonly counters: EngineCounters,
    private readonly emit: (event: 'connection_error', details: object) => void,
  ) {}

  /**
   * Calls `next` if the request is admitted, and answers it otherwise.
   * @param passOn passes a request on whose session has moved to another worker; returns false if it has not
   */
  admit(exchange: HttpExchange, isUpgrade: boolean, passOn: (sid: string) => boolean, next: () => void): void {
    const { request } = exchange;
    const { sid } = request._query;
    if (this.load.level >= 2 && !sid) return this.refuseBy(exchange, 'OVERLOADED');
    if (this.addresses && !sid && request.method === 'GET') {
      const refused = this.addresses.checkConnectionRate(request.connection.remoteAddress);
      if (refused) return this.refuseBy(exchange, refused);
    }
    this.runMiddleware(exchange, () => {
      // Middleware may wait for a store, and the session's WebSocket does not wait for it.
      if (sid && !this.sessions.has(sid) && passOn(sid)) return;
      const refusal = verify(request, isUpgrade, this.settings.transports, this.sessions);
      if (refusal) return this.refuse(exchange, refusal);
      // Only a session that begins on polling may move.
      if (!sid && !isUpgrade && this.middleware.length > 0) noteMiddleware(request);
      const { allowRequest, origins, trustProxy } = this.settings;
      if (isForeign(request, origins, trustProxy > 0)) return this.refuseBy(exchange, 'ORIGIN_FORBIDDEN');
      if (!allowRequest || sid) return next();
      // As in engine.io, a request for a WebSocket has none.
      if (!isUpgrade) responseOf(exchange);
      const forbid = (context: Refusal['context']) =>
        this.refuse(exchange, { error: handshakeErrors.FORBIDDEN, context });
      answered(
        (answer: Parameters<typeof allowRequest>[1]) => allowRequest(request, answer),
        (message, success) => (success ? next() : forbid({ message })),
        (error) => forbid({ error }),
      );
    });
  }

  /** Asks middleware and `allowRequest` again about the client of a session that has come from another worker. */
  readmit(exchange: HttpExchange, refuse: () => void, next: () => void): void {
    const { allowRequest } = this.settings;
    applyMiddleware(this.middleware, exchange, (error) => {
      if (error) return refuse();
      if (!allowRequest) return next();
      answered(
        (answer: Parameters<typeof allowRequest>[1]) => allowRequest(exchange.request, answer),
        (_message, success) => (success ? next() : refuse()),
        refuse,
      );
    });
  }

  /** Calls `next` if the middleware admits the request, and answers it otherwise. */
  runMiddleware(exchange: HttpExchange, next: () => void): void {
    applyMiddleware(this.middleware, exchange, (error) => {
      if (exchange.finished) return;
      if (!error) return next();
      this.refuse(exchange, { error: handshakeErrors.BAD_REQUEST, context: { name: 'MIDDLEWARE_FAILURE' } });
    });
  }

  /** Rejects a request because of a limit. */
  refuseBy(exchange: HttpExchange, code: keyof EngineCounters['refused']): void {
    this.counters.refused[code]++;
    this.refuse(exchange, { error: handshakeErrors[code], context: { name: code } });
  }

  refuse(exchange: HttpExchange, { error, context }: Refusal): void {
    const { code, status } = error;
    this.emit('connection_error', { req: exchange.request, code, message: error.message, context });
    const { middlewareResponse: begun } = exchange;
    // Middleware has begun its own response before it has failed.
    if (begun?.headersSent) return void begun.end();
    const message = typeof context.message === 'string' ? context.message : error.message;
    const headers = status === 503 ? { ...refusalHeaders, 'Retry-After': '2' } : refusalHeaders;
    respond(exchange, status, headers, JSON.stringify({ code, message }));
  }
}

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
