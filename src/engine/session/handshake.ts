import { Socket } from 'node:net';
import { inspect } from 'node:util';
import { handshakeErrors } from '../../base/errors.js';
import type { Engine } from '../engine.js';
import { addTo } from '../http/additions.js';
import type { Admission } from '../http/admission.js';
import type { CollectedResponse, FrameReceiver, HttpExchange, UpgradeExchange } from '../http/exchange.js';
import { applyMiddleware, closeResponseAfter } from '../http/middleware.js';
import { type EngineRequest, type RequestConnection, type RequestParts, requestOf } from '../http/request.js';
import type { HeaderMaker } from '../http/response-headers.js';
import type { LimitedClient } from '../limits/rates.js';
import type { EngineSettings } from '../options.js';
import type { Packet } from '../protocol/packet.js';
import { PollingTransport } from '../transports/polling.js';
import { protocolOf, type TransportRegistry, upgradesOf } from '../transports/registry.js';
import { type Transport, type TransportName, transportNames } from '../transports/transport.js';
import { announce } from './announced.js';
import type { MovingSession, PendingSessions } from './pending-sessions.js';
import { Session } from './session.js';
import type { UnusedSessions } from './unused-sessions.js';

/** A session that the application on another worker knew. */
export interface ArrivingSession extends Pick<MovingSession, 'id' | 'parts'> {
  /** What its client was to get next. */
  readonly packets: readonly Packet[];
  /** What it may still send. */
  readonly left: LimitedClient['left'];
}

/** Opens sessions: from a poll, from a WebSocket, or from a session that another worker has handed over. */
export class Handshake {
  constructor(
    private readonly host: Engine,
    private readonly sessions: Map<string, Session>,
    private readonly pending: PendingSessions,
    private readonly unused: UnusedSessions,
    private readonly admission: Admission,
    private readonly make: TransportRegistry,
    private readonly headers: HeaderMaker,
  ) {}

  /** Opens a session on polling. */
  polling(exchange: HttpExchange): Promise<void> {
    return this.open(
      exchange,
      (request) => this.make.polling(request),
      (session, transport) => {
        transport.onRequest(exchange);
        this.unused.add(session);
        // Socket.IO v2 clients wait for the application to speak first.
        const mayMove = session.protocol === 4 && this.host.settings.allowUpgrades && this.host.relay?.hasOthers;
        if (mayMove) this.pending.hold(session);
        else announce(session, this.host);
      },
    );
  }

  /** Opens a session on a WebSocket. */
  webSocket(exchange: UpgradeExchange): Promise<void> {
    return this.open(
      exchange,
      (request) => this.make.webSocket(request),
      (session, transport) => {
        exchange.accept(this.headers.ofUpgrade(exchange, session.id), transport);
        closeResponseAfter(exchange, transport);
        if (transport.webSocket) announce(session, this.host);
        else session.close(true);
      },
    );
  }

  /**
   * Continues a session that another worker has handed over.
   * @param adopted called when the application knows the session, or when the session has ended
   */
  adopt({ id, parts, additions }: MovingSession, upgrade: HttpExchange | undefined, adopted: () => void): void {
    const request = requestOf(withUpgrade(parts, upgrade));
    // The socket of the WebSocket is here, and knows the client's certificate. That of the handshake is not.
    const connection = upgrade?.request.connection;
    if (connection instanceof Socket) request.connection = connection;
    const transport = this.make.polling(request);
    const session = new Session(id, this.host, transport, request);
    this.sessions.set(id, session);
    this.host.addresses?.adopt(session, session.remoteAddress);
    session.startHeartbeat();
    const announceMoved = this.pending.holdMoved(session);
    const reject = () => {
      session.close(true);
      adopted();
    };
    // What middleware has put on the request where the session was, such as an object of a class, may be unable to move.
    applyMiddleware(this.admission.middleware, new DetachedExchange(request, reject), (error) => {
      if (error) return reject();
      addTo(request, additions);
      announceMoved();
      adopted();
    });
  }

  /**
   * Goes on with a session that the application on another worker knew. To the application here, it is a client that returns.
   * @param socket the connection of its WebSocket; undefined for a session on polling
   * @param open takes the WebSocket over; returns false if that is not possible
   * @param arrived called when the application knows the session, or with undefined if it does not let the client in
   * @returns the session, of which the application may not know yet; undefined if it cannot go on
   */
  arrive(
    { id, parts, packets, left }: ArrivingSession,
    socket: Socket | undefined,
    open: (receiver: FrameReceiver) => boolean,
    arrived: (session: Session | undefined) => void,
  ): Session | undefined {
    const request = requestOf(parts);
    if (socket && this.host.settings.trustProxy === 0) request.connection = socket as unknown as RequestConnection;
    const transport = socket ? this.make.webSocket(request) : this.make.polling(request);
    const session = new Session(id, this.host, transport, request);
    if (this.sessions.has(id) || (!(transport instanceof PollingTransport) && !open(transport)))
      return void arrived(undefined);
    this.sessions.set(id, session);
    this.host.addresses?.adopt(session, session.remoteAddress);
    // Its client may be gone, and no middleware may answer.
    session.startHeartbeat();
    session.polling?.holdPosts(() => {});
    session.addPackets(packets);
    this.host.messageLimits?.goOn(session, left);
    const refuse = () => {
      session.dismiss();
      arrived(undefined);
    };
    this.admission.readmit(new DetachedExchange(request, refuse), refuse, () => {
      if (session.readyState !== 'open') return arrived(undefined);
      announce(session, this.host);
      arrived(session);
    });
    return session;
  }

  /** Ends the poll of a session that its client has ended. */
  endPoll(exchange: HttpExchange): void {
    const transport = this.make.polling(exchange.request);
    transport.onRequest(exchange);
    if (transport.canSend) transport.send([{ type: 'noop' }]);
  }

  /** Starts the upgrade of a session on polling to the WebSocket that its client has opened. */
  upgrade(exchange: UpgradeExchange, session: Session): void {
    this.pending.upgrade(session.id);
    const headers = this.headers.ofUpgrade(exchange, session.id);
    if (session.upgrading || session.upgraded || session.transport.name === 'websocket') {
      return exchange.accept(headers, closed);
    }
    const candidate = this.make.webSocket(exchange.request, session.protocol);
    session.probeUpgrade(candidate);
    exchange.accept(headers, candidate);
    closeResponseAfter(exchange, candidate);
    if (!candidate.webSocket) session.probe?.end();
  }

  /** Opens a session, unless its client is rejected or gone. */
  private async open<T extends Transport>(
    exchange: HttpExchange,
    make: (request: EngineRequest) => T,
    opened: (session: Session, transport: T) => void,
  ): Promise<void> {
    const given = this.idFor(exchange);
    // An unnecessary await would send the response outside the cork of the request's handler.
    const id = given instanceof Promise ? await given : given;
    if (id === undefined || exchange.finished) return;
    const { idPrefix } = this.host.settings;
    const transport = make(exchange.request);
    // Without the prefix, other workers would not know which worker has the session.
    const sid = id.startsWith(idPrefix) ? id : idPrefix + id;
    const session = this.createSession(sid, transport, exchange);
    if (session) opened(session, transport);
  }

  private createSession(id: string, transport: Transport, exchange: HttpExchange): Session | undefined {
    const session = new Session(id, this.host, transport, exchange.request);
    if (this.host.addresses?.enter(session, session.remoteAddress) === false) {
      this.admission.refuseBy(exchange, 'TOO_MANY_CONNECTIONS');
      return undefined;
    }
    this.sessions.set(id, session);
    session.open();
    return session;
  }

  /** The id of a new session; undefined if the client was rejected. */
  private idFor(exchange: HttpExchange): string | undefined | Promise<string | undefined> {
    const { request } = exchange;
    const protocol = protocolOf(request);
    if (protocol === 3 && !this.host.settings.allowEIO3) {
      this.admission.refuse(exchange, {
        error: handshakeErrors.UNSUPPORTED_PROTOCOL_VERSION,
        context: { protocol },
      });
      return undefined;
    }
    const fail = (error: unknown) => {
      const context = { name: 'ID_GENERATION_ERROR', error };
      this.admission.refuse(exchange, { error: handshakeErrors.BAD_REQUEST, context });
      return undefined;
    };
    try {
      const generated = this.host.generateId(request);
      return generated && typeof generated === 'string'
        ? generated
        : Promise.resolve(generated).then(readId).catch(fail);
    } catch (error) {
      return fail(error);
    }
  }
}

/** @throws TypeError for an id that is neither text nor a number */
function readId(id: unknown): string {
  if (typeof id === 'number' || typeof id === 'bigint' || (typeof id === 'string' && id !== '')) return String(id);
  throw new TypeError(`generateId() must return text, not ${inspect(id)}.`);
}

/** The handshake's request, with the cookies that came with its answer, which only the request for the WebSocket has. */
function withUpgrade(parts: RequestParts, upgrade: HttpExchange | undefined): RequestParts {
  const { cookie } = upgrade?.request.headers ?? {};
  return cookie ? { ...parts, headers: { ...parts.headers, cookie } } : parts;
}

/** The handshake's request, once it has been answered where the session was before. */
class DetachedExchange implements HttpExchange {
  readonly finished = false;
  onAborted: (() => void) | undefined;
  onAnswerNow: (() => void) | undefined;
  middlewareResponse: CollectedResponse | undefined;

  constructor(
    readonly request: EngineRequest,
    /** Called when middleware answers instead of calling the next one. */
    readonly send: () => void,
  ) {}

  readBody(): void {}
  destroy(): void {}
}

/** The receiver of an unwanted WebSocket. Like engine.io, it closes the WebSocket with a close frame. */
const closed: FrameReceiver = {
  onOpen: (webSocket) => webSocket.end(),
  onMessage: () => {},
  onDrain: () => {},
  onOverflow: () => {},
  onFlood: () => {},
  onDetached: () => {},
  onClose: () => {},
};

/** The part of the handshake's JSON after the session id, by transport. Source: Engine.IO v4, "Handshake". */
export function openingsFor(settings: EngineSettings): Readonly<Record<TransportName, string>> {
  const { allowUpgrades, transports, pingInterval, pingTimeout, maxHttpBufferSize: maxPayload } = settings;
  const openings = transportNames.map((name) => {
    const upgrades = allowUpgrades ? upgradesOf[name].filter((other) => transports.includes(other)) : [];
    return [name, JSON.stringify({ upgrades, pingInterval, pingTimeout, maxPayload }).slice(1)];
  });
  return Object.fromEntries(openings);
}
