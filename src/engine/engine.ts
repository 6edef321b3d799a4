import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import cors from 'cors';
import { raise } from '../base/owner.js';
import { thisProcess } from '../base/process.js';
import { warnOnce } from '../base/warnings.js';
import { type AttachOptions, attachTo } from './attach.js';
import { type Clock, systemClock } from './clock.js';
import { EngineParts } from './engine-parts.js';
import { Admission } from './http/admission.js';
import type { FrameReceiver, HttpExchange, LeftWebSocket, UpgradeExchange } from './http/exchange.js';
import type { Middleware } from './http/middleware.js';
import type { EngineRequest } from './http/request.js';
import { HeaderMaker } from './http/response-headers.js';
import type { NodeApp } from './node/app.js';
import { isNodeApp, nodeApps } from './node/load.js';
import type { NodeWebSocket } from './node/web-socket.js';
import type { EngineOptions, EngineSettings } from './options.js';
import type { SessionRelay } from './relay.js';
import { announce } from './session/announced.js';
import { type ArrivingSession, Handshake, openingsFor } from './session/handshake.js';
import { type MovingSession, PendingSessions, type ReleasedSession } from './session/pending-sessions.js';
import type { Session } from './session/session.js';
import { randomIds } from './session/session-id.js';
import { TransportRegistry } from './transports/registry.js';
import { type Transport, type TransportName, transportNames } from './transports/transport.js';
import type { WebSocketTransport } from './transports/websocket.js';
import type { TemplatedApp } from './uws/app.js';
import { corkHolder } from './uws/cork-holder.js';

export type { AttachOptions } from './attach.js';
export type { SessionRelay } from './relay.js';

/** The process that engines are created in, if it is a worker that shares its port with others. */
export interface EngineHost {
  /** The options of an engine that is created with these options. */
  optionsFor(given: EngineOptions): EngineOptions;
  /** Called with each engine that is created. */
  created(engine: Engine): void;
}

declare module '../base/process.js' {
  interface ProcessHost {
    /** Set in a worker that shares its port with others. */
    engines?: EngineHost;
  }
}

/**
 * An Engine.IO server on uWebSockets.js and node:http, for `io.bind(engine)`.
 *
 * Events: `connection` (session), `initial_headers` and `headers` (headers, request), `connection_error` ({ req, code,
 * message, context }), `flush` and `drain` (session), and `limit` (session, reason) when a limit closes it.
 *
 * ```
 * const app = App();
 * const engine = new Engine({ pingInterval: 10_000 });
 * engine.attach(app, { path: '/socket.io' });
 * io.bind(engine);
 * ```
 */
export class Engine extends EngineParts {
  /** Set if several workers share a port. */
  relay: SessionRelay | undefined;
  /** Called with a request whose connection is closed because its address has made too many in one turn. */
  onFlood: ((request: EngineRequest) => void) | undefined;
  /** The session that has received a message last. While the message is handled, it is the sender. */
  sender: Session | undefined;

  private readonly newId = randomIds(this.settings.idPrefix);
  private readonly pending = new PendingSessions((session) => announce(session, this));
  private holdsCork = false;
  /** Serves the requests that the application hands over. */
  private handed: NodeApp | undefined;
  private readonly admission: Admission;
  private readonly handshake: Handshake;
  private readonly openings: Readonly<Record<TransportName, string>>;

  /** @param clock the clock of all timers and limits */
  constructor(options: EngineOptions = {}, clock: Clock = systemClock) {
    super(thisProcess.engines?.optionsFor(options) ?? options, clock);
    this.openings = openingsFor(this.settings);
    this.admission = new Admission(
      this.settings,
      this.sessions,
      this.addresses,
      this.load,
      this.counters,
      (event, details) => this.emit(event, details),
    );
    const headers = new HeaderMaker(this.settings.cookie, (event, added, request) => this.emit(event, added, request));
    const make = new TransportRegistry(this.settings, this, headers);
    this.handshake = new Handshake(this, this.sessions, this.pending, this.unused, this.admission, make, headers);
    if (this.settings.cors) this.use(cors(this.settings.cors as cors.CorsOptions));
    thisProcess.engines?.created(this);
  }

  /** The options under their name in engine.io. */
  get opts(): EngineSettings {
    return this.settings;
  }

  get isWatchingPackets(): boolean {
    return this.listenerCount('flush') > 0 || this.listenerCount('drain') > 0;
  }

  /** The number of sessions on each transport, counted on each read. */
  get clientsByTransport(): Readonly<Record<TransportName, number>> {
    const counts = Object.fromEntries(transportNames.map((name) => [name, 0])) as Record<TransportName, number>;
    for (const session of this.sessions.values()) counts[session.transport.name]++;
    return counts;
  }

  /** The number of open sessions. */
  get clientsCount(): number {
    return this.sessions.size;
  }

  /** The open sessions. */
  get all(): Iterable<Session> {
    return this.sessions.values();
  }

  /** The open sessions by id: a new object each time, without a prototype. */
  get clients(): Record<string, Session> {
    return Object.assign(Object.create(null), Object.fromEntries(this.sessions));
  }

  /** Whether this engine has the session. */
  has(sid: string): boolean {
    return this.sessions.has(sid);
  }

  /**
   * Generates the id of a new session. Applications may replace this method, and it may be asynchronous. Ids must be
   * unique and unguessable. The engine puts the option `idPrefix` before an id that does not begin with it.
   */
  generateId(_request: EngineRequest): string | number | PromiseLike<string | number> {
    return this.newId();
  }

  /** Adds Connect middleware, which runs before every request. */
  use(middleware: Middleware): this {
    this.admission.middleware.push(middleware);
    return this;
  }

  /** Adds the engine's routes to a uWebSockets.js app. Call it before the app listens. */
  attach(app: TemplatedApp, options: AttachOptions = {}): this {
    const isNative = !isNodeApp(app);
    if (isNative && !this.holdsCork) corkHolder.acquire();
    this.holdsCork ||= isNative;
    this.start();
    this.apps.push(app);
    attachTo(app, this, options);
    return this;
  }

  /** Starts to watch the load and the waiting bytes. `attach()` does so too. */
  start(): void {
    if (this.settings.shedsLoad) this.load.start();
    this.bufferBudget.start();
  }

  /** Call it before an app is closed permanently. From then on, nothing is published to the app. */
  detach(app: TemplatedApp): this {
    const index = this.apps.indexOf(app);
    if (index !== -1) this.apps.splice(index, 1);
    return this;
  }

  /** Closes all sessions. Attach it again to open new ones. */
  close(): this {
    if (this.holdsCork) corkHolder.release();
    this.holdsCork = false;
    this.handed?.stop();
    this.handed = undefined;
    this.outbox.flush();
    for (const session of this.sessions.values()) session.close(true);
    this.closeParts();
    return this;
  }

  /** Handles a request of an `http.Server` of the application, whatever its path. */
  handleRequest(message: IncomingMessage, response: ServerResponse): void {
    this.appOfHanded().onRequest(message, response);
  }

  /** Handles an upgrade of an `http.Server` of the application, whatever its path. */
  handleUpgrade(message: IncomingMessage, socket: Socket, head: Buffer): void {
    this.appOfHanded().onUpgrade(message, socket, head);
  }

  private appOfHanded(): NodeApp {
    if (!this.handed) {
      this.handed = nodeApps().on(createServer(), false);
      this.attach(this.handed, { path: '', addTrailingSlash: false, below: true });
    }
    return this.handed;
  }

  /** Always undefined: there is no server of `ws`. Reading it is reported, because applications go on to its members. */
  get ws(): undefined {
    warnOnce(
      'GJALLAR_NO_WS',
      'io.engine.ws is undefined: gjallar has no server of the package ws. Use io.engine.clientsCount, io.engine.clients, ' +
        "io.engine.on('connection'), or a WebSocketServer of ws with noServer for WebSockets of your own.",
    );
    return undefined;
  }

  /** Handles a request that is no upgrade. */
  onRequest(exchange: HttpExchange): void {
    if (exchange.finished) return;
    const { sid } = exchange.request._query;
    const passOn = (id: string) => this.relay?.request(id, exchange) ?? false;
    if (sid && !this.findSession(sid) && passOn(sid)) return;
    const isLate = sid !== undefined && exchange.request.method === 'GET' && this.latePolls.take(sid);
    if (isLate) return this.admission.runMiddleware(exchange, () => this.handshake.endPoll(exchange));
    this.admission.admit(exchange, false, passOn, () => {
      if (sid) this.sessions.get(sid)!.polling!.onRequest(exchange);
      else this.handshake.polling(exchange).catch(raise);
    });
  }

  /** Handles a request for a WebSocket. */
  onUpgrade(exchange: UpgradeExchange): void {
    if (exchange.finished) return;
    const { sid } = exchange.request._query;
    const passOn = (id: string) => this.relay?.upgrade(id, exchange) ?? false;
    if (sid && !this.findSession(sid) && passOn(sid)) return;
    this.admission.admit(exchange, true, passOn, () => {
      if (sid) this.handshake.upgrade(exchange, this.sessions.get(sid)!);
      else this.handshake.webSocket(exchange).catch(raise);
    });
  }

  private findSession(sid: string): Session | undefined {
    this.unused.remove(sid);
    const session = this.sessions.get(sid);
    // The deadline may have passed although its timer has not run yet. Then the request is too late.
    session?.queue?.check(session);
    return session;
  }

  /** Hands over a pending session to another worker; undefined if the session has to stay. */
  release(sid: string): ReleasedSession | undefined {
    const released = this.pending.release(sid);
    released?.session.moveAway();
    return released;
  }

  /** Continues a session that another worker has handed over, and upgrades it to the WebSocket that is requested. */
  adopt(session: MovingSession, upgrade?: UpgradeExchange): void {
    // The application must know the session before the WebSocket carries messages for it.
    this.handshake.adopt(session, upgrade, () => upgrade && this.onUpgrade(upgrade));
  }

  /** Whether a session could go on on another worker now. Sends what the outbox holds first. */
  canLeave(session: Session): boolean {
    this.outbox.flush();
    return session.canLeave && !this.pending.has(session.id);
  }

  /** Ends a session here, because it goes on on another worker. Call it only if {@link canLeave}. */
  handOver(session: Session): { webSocket?: LeftWebSocket; poll?: HttpExchange | undefined } {
    const { transport, polling } = session;
    const left = polling ? { poll: polling.takePoll() } : { webSocket: (transport as WebSocketTransport).handOver() };
    session.leave();
    return left;
  }

  /** See `arrive()` of the handshake. */
  arrive(
    moving: ArrivingSession,
    connection: { socket: Socket; compresses: boolean } | undefined,
    arrived: (session: Session | undefined, webSocket: NodeWebSocket | undefined) => void,
  ): Session | undefined {
    let webSocket: NodeWebSocket | undefined;
    const open = (receiver: FrameReceiver): boolean => {
      const { socket, compresses } = connection!;
      const app = this.apps.find(isNodeApp);
      webSocket = app?.takeOver(this, socket, receiver, compresses);
      return webSocket !== undefined;
    };
    return this.handshake.arrive(moving, connection?.socket, open, (session) => arrived(session, webSocket));
  }

  /** A client that is so late with its WebSocket hardly requests one, and its answer to the ping may not wait. */
  protected onPingDue(session: Session): void {
    this.pending.claim(session.id);
    session.onDeadline(false);
  }

  openingFor(transport: Transport): string {
    return this.openings[transport.name];
  }

  onSessionClosed(session: Session): void {
    this.sessions.delete(session.id);
    this.packetListeners.delete(session);
    this.unused.remove(session.id);
    this.addresses?.leave(session);
    this.pending.forget(session.id);
    if (session.polling?.isPollExpected && this.relay?.hasOthers) this.latePolls.expect(session.id);
    this.relay?.noMoreRequests(session.id);
  }

  onSessionUpgraded(session: Session): void {
    this.relay?.noMoreRequests(session.id);
  }
}
