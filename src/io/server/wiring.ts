import { Server as HttpServer } from 'node:http';
import type { Namespace, Server } from 'socket.io';
import { GjallarError } from '../../base/errors.js';
import { pageOf } from '../../base/package.js';
import { thisProcess } from '../../base/process.js';
import { Engine } from '../../engine/engine.js';
import * as parser from '../../engine/parser/parser.js';
import { isSecureApp } from '../../engine/sockets.js';
import type { TemplatedApp } from '../../engine/uws/app.js';
import { portOwnerOfEnvironment } from '../../engine/uws/environment.js';
import { socketsInUse, uws } from '../../engine/uws/uws.js';
import { serveBundle } from '../http/client-bundle.js';
import {
  type AdapterClass,
  type AdapterFactory,
  hasNativeRooms,
  type RoomsEngine,
  withNativeRooms,
} from '../rooms/index.js';
import { type PrivateServer, privateParts } from '../socket-io-server.private.js';
import { defaultBus, withoutLostState } from './default-adapter.js';
import { checkedOptions, engineOptionsOf, type ServerOptions } from './engine-options.js';
import { EngineRoute } from './engine-route.js';
import { PortOwner } from './listen/port-owner.js';
import { ServerListeners } from './listeners.js';

/** The parts that all Socket.IO servers on one http.Server share. */
interface Attachment {
  readonly listeners: ServerListeners;
  readonly port: PortOwner;
  /** The engines by path. */
  readonly engines: Map<string, Engine>;
}

const attachments = new WeakMap<object, Attachment>();

/** Adds gjallar's engine and rooms to a server of socket.io. */
export class Wiring implements RoomsEngine {
  private made: Engine | undefined;
  private readonly inside: PrivateServer;
  private httpServers = 0;
  private hasAdapter = false;

  constructor(private readonly io: Server) {
    this.inside = privateParts(io);
    const { opts } = this.inside;
    // Socket.IO reads some of them later, and writes to this object itself.
    Object.assign(opts, checkedOptions(opts));
  }

  /** Created when it is first needed, because `attach()` may have options that the constructor did not have. */
  private engineWith(options: Partial<ServerOptions>): Engine {
    const { engine: bound } = this.inside;
    // The application may have bound an engine itself. With two engines, a room would be split.
    this.made ??= bound instanceof Engine ? bound : new Engine(engineOptionsOf(options));
    return this.made;
  }

  /** Whether the server already uses the engine, or is about to. */
  owns(engine: Engine): boolean {
    return engine === this.made;
  }

  get engine(): Engine {
    return this.engineWith(this.inside.opts);
  }

  get busyRooms(): Engine['busyRooms'] {
    return this.engine.busyRooms;
  }

  get counters(): Engine['counters'] {
    return this.engine.counters;
  }

  get load(): Engine['load'] {
    return this.engine.load;
  }

  get outbox(): Engine['outbox'] {
    return this.engine.outbox;
  }

  get packetListeners(): Engine['packetListeners'] {
    return this.engine.packetListeners;
  }

  get sender(): Engine['sender'] {
    return this.engine.sender;
  }

  get settings(): Engine['settings'] {
    return this.engine.settings;
  }

  /**
   * Turns the rooms of an adapter into topics.
   * @param given the adapter that socket.io or the application sets
   */
  adapterFor(given: AdapterFactory | AdapterClass): AdapterFactory {
    // The constructor of socket.io's Server sets an adapter first, even if its options have none.
    const isDefault = !this.hasAdapter && !this.inside.opts.adapter;
    this.hasAdapter = true;
    const adapter = isDefault ? defaultBus : given;
    if (hasNativeRooms(adapter)) return adapter as AdapterFactory;
    if (!isDefault) adviseOnSessions(given, this.inside.opts);
    return withNativeRooms(withoutLostState(adapter as (nsp: Namespace) => never), this);
  }

  /** Replaces the default parser with gjallar's, which is faster and writes the same bytes. */
  useParser(): void {
    const { inside } = this;
    if (inside.opts.parser || inside._parser === parser) return;
    inside._parser = parser;
    inside.encoder = new parser.Encoder();
  }

  /** Serves clients on the application's HTTP server. */
  attachServer(server: HttpServer, options: Partial<ServerOptions>): void {
    const { inside } = this;
    const engine = this.engineWith(options);
    const { addTrailingSlash = true } = options;
    const { listeners, port, engines } = attachmentOf(server, options);
    const path = pathOf(options);
    if ((engines.get(path) ?? engine) !== engine) throw new GjallarError('BAD_CONFIG', twoServersOn(path));
    engines.set(path, engine);
    const route = new EngineRoute(engine, path, addTrailingSlash, inside._serveClient);
    listeners.add(route, options);
    if (inside._serveClient) inside.attachServe(server);
    listeners.claimRequests();
    port.add(route);
    inside.httpServer = server;
    this.httpServers++;
    server.once('close', () => {
      engines.delete(path);
      this.httpServers--;
      if (this.httpServers === 0) engine.close();
    });
    this.bind(engine);
  }

  /** Serves clients on the application's own uWebSockets.js app. */
  attachApp(app: TemplatedApp, options: Partial<ServerOptions>): void {
    const { inside } = this;
    const engine = this.engineWith(options);
    const path = pathOf(options);
    if (inside._serveClient) serveBundle(app, path, engine.settings.cors);
    const { addTrailingSlash = true } = options;
    engine.attach(app, { path, addTrailingSlash, secure: isSecureApp(app) });
    this.bind(engine);
  }

  private bind(engine: Engine): void {
    this.inside.eio = engine;
    // A server that is attached several times keeps its engine.
    if (this.inside.engine !== engine) this.io.bind(engine);
  }
}

const twoServersOn = (path: string) =>
  `two Socket.IO servers are on the path ${path || '/'} of one http.Server, so both would answer each client. Create one server, or ` +
  'give each one a `path`.';

/** The path without a trailing slash. */
function pathOf({ path = '/socket.io' }: Partial<ServerOptions>): string {
  return path.replace(/\/$/, '');
}

function attachmentOf(server: HttpServer, options: Partial<ServerOptions>): Attachment {
  let attachment = attachments.get(server);
  if (!attachment) {
    warnOfPortableSockets();
    const { portOwner = portOwnerOfEnvironment() } = options;
    // A server that already listens may have connections, and gets its handlers when it pleases.
    const canMove = portOwner === 'auto' && uws !== undefined && server instanceof HttpServer && !server.listening;
    const listeners = new ServerListeners(server);
    attachment = { listeners, port: new PortOwner(server, listeners, canMove), engines: new Map() };
    attachments.set(server, attachment);
  }
  return attachment;
}

let isWarned = false;

/** The application's log is its own, so Node.js prints the warning. The primary of `gjallar run` has a log, and says it. */
function warnOfPortableSockets(): void {
  const { warning, remedy } = socketsInUse;
  if (!warning || isWarned || thisProcess.sharedPorts) return;
  isWarned = true;
  process.emitWarning(`${warning}. To have native ones, ${remedy}`, { type: 'gjallar', code: 'PORTABLE_SOCKETS' });
}

/** Adapters of socket.io that join nothing. */
const local = ['Adapter', 'SessionAwareAdapter'];

const IN_THE_LIBRARY =
  'The application sets an adapter. It joins rooms, not sessions: if several processes serve the clients, one on polling ' +
  'gets "Session ID unknown" from a process that does not have its session. Use sticky sessions, WebSocket as the only ' +
  'transport, or npx gjallar run with GJALLAR_REDIS_URL, which needs neither. ' +
  `See ${pageOf('docs/move.md')}.`;

const IN_A_WORKER =
  'the application sets an adapter, which joins the rooms of several machines, but not their sessions; set ' +
  'GJALLAR_REDIS_URL or GJALLAR_NATS_URL, or use sticky sessions between machines, so that clients on polling get no "Session ID unknown"';

declare module '../../base/process.js' {
  interface ProcessHost {
    /** Gives the advice to a log instead of Node.js. */
    onSessionAdvice?: (advice: string) => void;
  }
}

let isGiven = false;

/** Says once what an application with an adapter of its own needs on several processes. */
function adviseOnSessions(adapter: object, { transports }: Partial<ServerOptions>): void {
  const { name } = adapter as { name?: string };
  const hasPolling = !transports || transports.includes('polling');
  if (isGiven || !hasPolling || local.includes(name ?? '')) return;
  isGiven = true;
  const { onSessionAdvice } = thisProcess;
  if (onSessionAdvice) onSessionAdvice(IN_A_WORKER);
  else process.emitWarning(IN_THE_LIBRARY, { type: 'GjallarNotice', code: 'GJALLAR_SESSIONS' });
}
