import type { TemplatedApp } from 'uWebSockets.js';
import { EventEmitter } from 'node:events';
import { serialize } from 'cookie';
import cors from 'cors';
import { handshakeErrors } from '../errors.js';
import { type Clock, DeadlineQueue, systemClock } from './deadlines.js';
import type { Exchange, FrameReceiver, ResponseHeaders, UpgradeExchange } from './exchange.js';
import { applyMiddleware, type Middleware, respond } from './middleware.js';
import { type EngineOptions, type EngineSettings, settingsFrom } from './options.js';
import { Apps, Outbox } from './outbox.js';
import { RecentStrings } from './recent-strings.js';
import { EngineRequest, readRequest } from './request.js';
import { Session, type SessionHost } from './session.js';
import { randomId } from './session-id.js';
import { SkippedDeliveries } from './skipped.js';
import { type PollingSettings, PollingTransport } from './transports/polling.js';
import { nobody, type Protocol, type Transport } from './transports/transport.js';
import { type WebSocketSettings, WebSocketTransport } from './transports/websocket.js';
import { type MovingSession, UnclaimedSessions } from './unclaimed.js';
import {
  channelOf,
  DISABLED,
  noteClosed,
  noteOpen,
  receiverOf,
  SHARED_COMPRESSOR,
  type SocketData,
  UwsExchange,
  UwsUpgradeExchange,
} from './uws-exchange.js';
import { type Refusal, verify } from './verify.js';

/** Where the engine answers. */
export interface AttachOptions {
  /** @default "/socket.io" */
  path?: string;
  /** Whether the path ends in a slash. @default true */
  addTrailingSlash?: boolean;
  /** Whether the app is an SSLApp: what `handshake.secure` says. @default false */
  secure?: boolean;
}

/** Takes requests for sessions of another worker. Returns false for an id that is nobody's. */
export interface Relay {
  request(sid: string, exchange: Exchange): boolean;
  upgrade(sid: string, exchange: UpgradeExchange): boolean;
  /** Whether there is another worker that a session could move to. */
  readonly hasOthers: boolean;
  /** A session of this worker has moved to WebSocket, or has ended: no request for it will come any more. */
  settled(sid: string): void;
}

/**
 * An Engine.IO server on uWebSockets.js, for `io.bind(engine)`.
 *
 * Events: `connection` (session), `initial_headers` and `headers` (headers, request), `connection_error`
 * ({ req, code, message, context }), `flush` and `drain` (session).
 *
 * ```
 * const app = App();
 * const engine = new Engine({ pingInterval: 10_000 });
 * engine.attach(app, { path: '/socket.io' });
 * io.bind(engine);
 * ```
 */
export class Engine extends EventEmitter implements SessionHost {
  /** The options with all defaults in place. */
  readonly settings: EngineSettings;
  /** Set where several workers share a port. */
  relay: Relay | undefined;
  readonly pingQueue: DeadlineQueue<Session>;
  readonly silenceQueue: DeadlineQueue<Session>;
  readonly silenceQueueV3: DeadlineQueue<Session>;

  /** What is sent over WebSockets goes through here. */
  readonly outbox: Outbox;

  private readonly unclaimed = new UnclaimedSessions((session) => this.emit('connection', session));
  private readonly skipped = new SkippedDeliveries();
  private readonly apps: TemplatedApp[] = [];
  private readonly sessions = new Map<string, Session>();
  private readonly middleware: Middleware[] = [];
  private readonly pollingSettings: PollingSettings;
  private readonly webSocketSettings: WebSocketSettings;
  private readonly openings: Readonly<Record<Transport['name'], string>>;

  /** @param clock what the heartbeats go by */
  constructor(options: EngineOptions = {}, clock: Clock = systemClock) {
    super();
    this.settings = settingsFrom(options);
    const { pingInterval, pingTimeout } = this.settings;
    this.pingQueue = new DeadlineQueue(pingInterval, (session) => session.onDeadline(false), clock);
    const silent = (session: Session) => session.onDeadline(true);
    this.silenceQueue = new DeadlineQueue(pingTimeout, silent, clock);
    this.silenceQueueV3 = new DeadlineQueue(pingInterval + pingTimeout, silent, clock);
    const skipped = this.settings.maxBackpressure > 0 ? this.skipped : undefined;
    this.outbox = new Outbox(new Apps(this.apps), this.settings.flushMs, clock, skipped);
    this.webSocketSettings = {
      outbox: this.outbox,
      recent: new RecentStrings(),
      compressFrom: this.settings.perMessageDeflate?.threshold,
    };
    this.openings = openingsFor(this.settings);
    this.pollingSettings = {
      httpCompression: this.settings.httpCompression,
      addHeaders: (headers, exchange, sid) => this.addHeaders(headers, exchange.request, sid),
    };
    if (this.settings.cors) this.use(cors(this.settings.cors as cors.CorsOptions));
  }

  /** The options, under engine.io's name for them. */
  get opts(): EngineSettings {
    return this.settings;
  }

  get isWatchingPackets(): boolean {
    return this.listenerCount('flush') > 0 || this.listenerCount('drain') > 0;
  }

  /** How many messages to WebSockets were dropped because more than `maxBackpressure` bytes waited for the client. */
  get skippedDeliveries(): number {
    return this.skipped.count;
  }

  /** How many sessions are open. */
  get clientsCount(): number {
    return this.sessions.size;
  }

  /** The open sessions by id: a new object each time, without a prototype. */
  get clients(): Record<string, Session> {
    return Object.assign(Object.create(null), Object.fromEntries(this.sessions));
  }

  /** Whether this engine has that session. */
  has(sid: string): boolean {
    return this.sessions.has(sid);
  }

  /**
   * Makes the id of a new session. To be replaced by applications that want ids of their own; may be asynchronous.
   * Ids must be unique and unguessable.
   */
  generateId(_request: EngineRequest): string | PromiseLike<string> {
    return randomId(this.settings.idPrefix);
  }

  /** Adds Connect middleware, which runs before every request. */
  use(middleware: Middleware): this {
    this.middleware.push(middleware);
    return this;
  }

  /** Answers on a uWebSockets.js app. Call it before the app listens. */
  attach(
    app: TemplatedApp,
    { path = '/socket.io', addTrailingSlash = true, secure = false }: AttachOptions = {},
  ): this {
    const bare = path.replace(/\/$/, '');
    const pattern = addTrailingSlash ? `${bare}/` : bare;
    const { maxHttpBufferSize, perMessageDeflate, maxBackpressure } = this.settings;
    this.apps.push(app);
    app.ws<SocketData>(pattern, {
      maxPayloadLength: maxHttpBufferSize,
      maxBackpressure,
      compression: perMessageDeflate ? SHARED_COMPRESSOR : DISABLED,
      // Engine.IO has heartbeats of its own.
      idleTimeout: 0,
      sendPingsAutomatically: false,
      upgrade: (res, req, context) => {
        const exchange = new UwsUpgradeExchange(res, readRequest(res, req, secure), context);
        this.onUpgrade(exchange);
        exchange.handlerReturned();
      },
      open: (ws) => {
        noteOpen(ws);
        receiverOf(ws).onOpen(channelOf(ws));
      },
      message: (ws, message, isBinary) => receiverOf(ws).onMessage(message, isBinary),
      drain: (ws) => receiverOf(ws).onDrain(),
      dropped: (ws, message) => this.skipped.dropped(ws, message),
      close: (ws, code, reason) => {
        noteClosed(ws);
        receiverOf(ws).onClose(code, Buffer.from(reason).toString());
      },
    });
    app.any(pattern, (res, req) => {
      this.onRequest(new UwsExchange(res, readRequest(res, req, secure), maxHttpBufferSize));
    });
    return this;
  }

  /** Closes all sessions. */
  close(): this {
    this.outbox.flush();
    for (const session of this.sessions.values()) session.close(true);
    this.pingQueue.close();
    this.silenceQueue.close();
    this.silenceQueueV3.close();
    return this;
  }

  /** Takes a request that is no upgrade. */
  onRequest(exchange: Exchange): void {
    const { sid } = exchange.request._query;
    if (sid && !this.findSession(sid) && this.relay?.request(sid, exchange)) return;
    this.admit(exchange, false, () => {
      if (sid) this.sessions.get(sid)!.polling!.onRequest(exchange);
      else void this.handshake(exchange, this.openPolling);
    });
  }

  /** Takes a request that asks for a WebSocket. */
  onUpgrade(exchange: UpgradeExchange): void {
    const { sid } = exchange.request._query;
    if (sid && !this.findSession(sid) && this.relay?.upgrade(sid, exchange)) return;
    this.admit(exchange, true, () => {
      if (sid) this.upgrade(exchange, this.sessions.get(sid)!);
      else void this.handshake(exchange, this.openWebSocket);
    });
  }

  private findSession(sid: string): Session | undefined {
    const session = this.sessions.get(sid);
    // A request that comes after the deadline, and before the timer that will find it out, comes too late.
    session?.queue?.check(session);
    return session;
  }

  /** Runs middleware and checks, and goes on if nothing speaks against the request. */
  private admit(exchange: Exchange, isUpgrade: boolean, next: () => void): void {
    applyMiddleware(this.middleware, exchange, (error) => {
      if (exchange.finished) return;
      const { request } = exchange;
      if (error)
        return this.refuse(exchange, { error: handshakeErrors.BAD_REQUEST, context: { name: 'MIDDLEWARE_FAILURE' } });
      const refusal = verify(request, isUpgrade, this.settings.transports, this.sessions);
      if (refusal) return this.refuse(exchange, refusal);
      const { allowRequest } = this.settings;
      if (!allowRequest || request._query.sid) return next();
      allowRequest(request, (message, success) => {
        if (success) next();
        else this.refuse(exchange, { error: handshakeErrors.FORBIDDEN, context: { message } });
      });
    });
  }

  private refuse(exchange: Exchange, { error, context }: Refusal): void {
    const { code, status } = error;
    this.emit('connection_error', { req: exchange.request, code, message: error.message, context });
    const message = typeof context.message === 'string' ? context.message : error.message;
    respond(exchange, status, { 'Content-Type': 'application/json' }, JSON.stringify({ code, message }));
  }

  /** Gives a new client its id, and `open` its session. */
  private async handshake<T extends Exchange>(
    exchange: T,
    open: (exchange: T, protocol: Protocol, id: string) => void,
  ): Promise<void> {
    const { request } = exchange;
    const protocol = protocolOf(request);
    if (protocol === 3 && !this.settings.allowEIO3) {
      return this.refuse(exchange, { error: handshakeErrors.UNSUPPORTED_PROTOCOL_VERSION, context: { protocol } });
    }
    let id: string;
    try {
      const generated = this.generateId(request);
      // Waiting for what is there already would take the answer out of the request's own write.
      id = typeof generated === 'string' ? generated : await generated;
    } catch (error) {
      const context = { name: 'ID_GENERATION_ERROR', error };
      return this.refuse(exchange, { error: handshakeErrors.BAD_REQUEST, context });
    }
    if (!exchange.finished) open(exchange, protocol, id);
  }

  private readonly openPolling = (exchange: Exchange, protocol: Protocol, id: string): void => {
    const binary = supportsBinary(exchange.request);
    const transport = new PollingTransport(nobody, protocol, binary, this.pollingSettings);
    const session = this.createSession(id, transport, exchange.request);
    transport.onRequest(exchange);
    // Socket.IO v2 clients wait for the application to speak first.
    if (protocol === 4 && this.settings.allowUpgrades && this.relay?.hasOthers) this.unclaimed.hold(session);
    else this.emit('connection', session);
  };

  /**
   * Gives a session away that no application knows of yet. Returns undefined where it has to stay.
   * @returns what has to move, and the poll that waits, to be passed on to where the session is then
   */
  release(sid: string): { moving: MovingSession; poll: Exchange | undefined } | undefined {
    const released = this.unclaimed.release(sid);
    released?.session.moveAway();
    return released;
  }

  /** Goes on with a session that another worker has given away. */
  adopt({ id, parts, early }: MovingSession): void {
    const request = new EngineRequest(parts);
    const transport = new PollingTransport(nobody, protocolOf(request), supportsBinary(request), this.pollingSettings);
    const session = new Session(id, this, transport, request);
    this.sessions.set(id, session);
    session.startHeartbeat();
    this.emit('connection', session);
    for (const data of early) session.onPacket(transport, 'message', data);
  }

  private readonly openWebSocket = (exchange: UpgradeExchange, protocol: Protocol, id: string): void => {
    const transport = this.createWebSocket(exchange.request, protocol);
    const session = this.createSession(id, transport, exchange.request);
    exchange.accept(this.upgradeHeaders(exchange, id), transport);
    if (transport.channel) this.emit('connection', session);
    else session.close(true);
  };

  private createSession(id: string, transport: Transport, request: EngineRequest): Session {
    const session = new Session(id, this, transport, request);
    this.sessions.set(id, session);
    session.open();
    return session;
  }

  private createWebSocket(request: EngineRequest, protocol: Protocol): WebSocketTransport {
    return new WebSocketTransport(nobody, protocol, supportsBinary(request), this.webSocketSettings);
  }

  /** Lets a session that is on polling try the WebSocket that its client has opened. */
  private upgrade(exchange: UpgradeExchange, session: Session): void {
    this.unclaimed.claim(session.id);
    if (session.upgrading || session.upgraded || session.transport.name === 'websocket') {
      return exchange.accept(this.upgradeHeaders(exchange, session.id), closed);
    }
    const candidate = this.createWebSocket(exchange.request, session.protocol);
    session.probeUpgrade(candidate);
    exchange.accept(this.upgradeHeaders(exchange, session.id), candidate);
    if (!candidate.channel) session.probe?.end();
  }

  private upgradeHeaders(exchange: UpgradeExchange, id: string): ResponseHeaders {
    const headers: ResponseHeaders = {};
    this.addHeaders(headers, exchange.request, id);
    const response = exchange.middlewareResponse;
    // Middleware such as express-session adds its headers when writeHead() is called.
    return response ? response.writeHead(101, headers).collected() : headers;
  }

  /** Adds the cookie, and what listeners of `initial_headers` and `headers` add. */
  private addHeaders(headers: ResponseHeaders, request: EngineRequest, id: string): void {
    const { cookie } = this.settings;
    const isInitial = !request._query.sid;
    // engine.io sets its cookie over polling only.
    if (cookie && isInitial && request._query.transport === 'polling') {
      headers['Set-Cookie'] = serialize(cookie.name, id, cookie);
    }
    if (isInitial) this.emit('initial_headers', headers, request);
    this.emit('headers', headers, request);
  }

  openingFor(transport: Transport): string {
    return this.openings[transport.name];
  }

  onSessionClosed(session: Session): void {
    this.sessions.delete(session.id);
    this.unclaimed.forget(session.id);
    this.relay?.settled(session.id);
  }

  onSessionUpgraded(session: Session): void {
    this.relay?.settled(session.id);
  }
}

/** The receiver of a WebSocket that nobody wants: its client is told by a close frame, as by engine.io. */
const closed: FrameReceiver = {
  onOpen: (channel) => channel.end(),
  onMessage: () => {},
  onDrain: () => {},
  onClose: () => {},
};

function protocolOf(request: EngineRequest): Protocol {
  return request._query.EIO === '4' ? 4 : 3;
}

/** Clients that cannot read binary say so with the parameter `b64`. */
function supportsBinary(request: EngineRequest): boolean {
  return !request._query.b64;
}

/** What the handshake tells a client of each transport behind the session's id. Source: Engine.IO v4, "Handshake". */
function openingsFor(settings: EngineSettings): Record<Transport['name'], string> {
  const { allowUpgrades, transports, pingInterval, pingTimeout, maxHttpBufferSize: maxPayload } = settings;
  const opening = (upgrades: string[]) => JSON.stringify({ upgrades, pingInterval, pingTimeout, maxPayload }).slice(1);
  const canUpgrade = allowUpgrades && transports.includes('websocket');
  return { polling: opening(canUpgrade ? ['websocket'] : []), websocket: opening([]) };
}
