import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clearInterval, performance, setImmediate, setInterval } from '../../base/clock.js';
import { GjallarError } from '../../base/errors.js';
import type { FrameReceiver } from '../http/exchange.js';
import { type HttpHost, handleRequest, hostOfOthers } from '../http/guarded-requests.js';
import type { HttpRoute, RouteHost, WebSocketRoute } from '../http/route.js';
import type { ConnectionGuard } from '../limits/connection-guard.js';
import type { AppOptions, Listening, TemplatedApp, us_listen_socket, Writable } from '../uws/app.js';
import { NodeHttpExchange } from './exchange.js';
import { ListenSocket, listen, serverOf } from './listen.js';
import { responseOn } from './node-net.private.js';
import { Progress } from './progress.js';
import { readMessage } from './request.js';
import { gone, isOwned, onError } from './socket-owner.js';
import { NodeTopics } from './topics.js';
import { isHandshake, NodeUpgradeExchange } from './upgrade.js';
import type { NodeWebSocket } from './web-socket.js';
import { NodeWebSockets } from './web-sockets.js';
import { Writer } from './writer.js';

interface ServedRoute {
  readonly host: HttpHost;
  readonly route: HttpRoute;
}

/** How often silent WebSockets and slow requests are looked for; uWebSockets.js's clock ticks as often. */
const SWEEP_MS = 4000;
/** How many requests may wait on a connection for the response to an earlier one. */
const MAX_WAITING = 16;

/**
 * The engine's routes on a server of node:http: one of the application, or its own. It has the part of uWebSockets.js's
 * `App` that is about neither requests nor responses.
 */
export class NodeApp implements TemplatedApp {
  readonly get = needsUws('get');
  readonly post = needsUws('post');
  readonly put = needsUws('put');
  readonly patch = needsUws('patch');
  readonly del = needsUws('del');
  readonly head = needsUws('head');
  readonly options = needsUws('options');
  readonly any = needsUws('any');
  readonly ws = needsUws('ws');
  readonly filter = needsUws('filter');

  private readonly routes = new Routes<ServedRoute>();
  private readonly webSocketRoutes = new Routes<NodeWebSockets>();
  private readonly webSockets: NodeWebSockets[] = [];
  private readonly topics = new NodeTopics();
  private readonly writer = new Writer();
  private readonly progress = new Progress();
  private readonly others = hostOfOthers();
  private readonly waiting = new WeakMap<Socket, number>();
  private readonly connections = new Set<Socket>();
  /** One listener for all sockets, which are its `this`. */
  private readonly onClose: (this: Socket) => void;
  private guard: ConnectionGuard | undefined;
  private sweeping: NodeJS.Timeout | undefined;

  private constructor(
    private readonly server: Server,
    readonly isSecure: boolean,
  ) {
    const app = this;
    this.onClose = function () {
      app.connections.delete(this);
      app.guard?.closed();
      gone(this);
    };
  }

  /** An app with a server of its own. */
  static create(options?: AppOptions): NodeApp {
    const server = serverOf(options);
    const app = new NodeApp(server, options !== undefined);
    server.on('request', (message, response) => app.onRequest(message, response));
    server.on('upgrade', (message, socket, head) => app.onUpgrade(message, socket as Socket, head));
    return app.watchConnections();
  }

  /** An app on a server of the application, which passes it the requests that are for the engine. */
  static on(server: Server, isSecure: boolean): NodeApp {
    return new NodeApp(server, isSecure).watchConnections().startSweeping();
  }

  routeHttp(host: HttpHost, route: HttpRoute): void {
    for (const method of route.isReadOnly ? ['GET', 'HEAD'] : [undefined]) {
      this.routes.add(route.pattern, { host, route }, method);
    }
  }

  routeWebSockets(host: RouteHost, route: WebSocketRoute): void {
    const webSockets = new NodeWebSockets(host, route, this.topics, this.writer);
    this.webSocketRoutes.add(route.pattern, webSockets);
    this.webSockets.push(webSockets);
  }

  /** Counts the connections, and closes new ones beyond the limit. The first guard counts. */
  watch(guard: ConnectionGuard): void {
    this.guard ??= guard;
  }

  listen(...args: unknown[]): this {
    const listening = args.pop() as Listening;
    const host = typeof args[0] === 'string' ? args.shift() : undefined;
    const [port, mode] = args as [number, number?];
    listen(this.server, { port, host: host as string | undefined }, mode, listening);
    return this.startSweeping();
  }

  listen_unix(listening: (socket: us_listen_socket) => void, path: string): this {
    listen(this.server, { path }, undefined, listening as Listening);
    return this.startSweeping();
  }

  publish(topic: string, message: Writable, isBinary = false, compress = false): boolean {
    return this.topics.publish(topic, message, isBinary, compress);
  }

  numSubscribers(topic: string): number {
    return this.topics.count(topic);
  }

  /** Ends the connections, those of an application's server to other requests included. */
  close(): this {
    this.stop();
    new ListenSocket(this.server).close();
    for (const socket of this.connections) socket.destroy();
    return this;
  }

  /** Nothing is looked after any more. */
  stop(): void {
    clearInterval(this.sweeping);
  }

  /**
   * node:http passes on each request as soon as it has read it. Here, a request waits for the response to the one before,
   * also until its client has read that response.
   */
  onRequest(message: IncomingMessage, response: ServerResponse): void {
    const { socket } = message;
    if (socket.destroyed) return;
    // Of the requests on a connection, node:http gives it to the response that is written next.
    if (response.socket !== null || message.httpVersionMajor > 1) return this.handle(message, response);
    const waiting = (this.waiting.get(socket) ?? 0) + 1;
    if (waiting > MAX_WAITING) return this.flood(message);
    this.waiting.set(socket, waiting);
    response.once('socket', () => {
      this.waiting.set(socket, this.waiting.get(socket)! - 1);
      // node:http has not returned from the end of the response before.
      setImmediate(() => socket.destroyed || this.handle(message, response));
    });
  }

  private flood(message: IncomingMessage): void {
    message.socket.destroy();
    const host = this.routeOf(message)?.host;
    host?.requestGuard.flood(() => host.onFlood?.(readMessage(message, host.settings.trustProxy)));
  }

  private handle(message: IncomingMessage, response: ServerResponse): void {
    const served = this.routeOf(message);
    if (!served) return answerNotFound(response);
    const { host, route } = served;
    const { trustProxy } = host.settings;
    const request = readMessage(message, trustProxy);
    const exchange = new NodeHttpExchange(request, message, response, route.maxBody ?? 0, host, this.progress);
    handleRequest(exchange, host, route.handle, route.isForAnyHost);
  }

  /** Takes a request for which node:http has given its connection up. */
  onUpgrade(message: IncomingMessage, socket: Socket, head: Buffer): void {
    // An application may hand over what this server has got from node:http itself.
    if (isOwned(socket)) return;
    // A connection that is older than the engine.
    if (!this.connections.has(socket)) this.onConnection(socket);
    const earlier = responseOn(socket);
    if (earlier) {
      // It would be written into the frames.
      earlier.once('close', () => socket.destroyed || this.onUpgrade(message, socket, head));
      return void socket.off('error', onError).on('error', onError);
    }
    const webSockets = isHandshake(message) ? this.webSocketRoutes.first(pathOf(message)) : undefined;
    if (webSockets) return webSockets.onUpgrade(message, head, this.progress);
    const served = this.routeOf(message);
    const host = served?.host ?? this.others;
    const exchange = new NodeUpgradeExchange(message, head, undefined, host, this.progress);
    if (!served) return exchange.send(404, {}, NOT_FOUND);
    handleRequest(exchange, served.host, served.route.handle, served.route.isForAnyHost);
  }

  /**
   * Takes a WebSocket over that another process had.
   * @param host whose WebSocket it is
   * @returns undefined if it is not wanted here, or there are too many connections
   */
  takeOver(host: object, socket: Socket, receiver: FrameReceiver, compresses: boolean): NodeWebSocket | undefined {
    const webSockets = this.webSockets.find((one) => one.isOf(host));
    if (!webSockets) return undefined;
    this.onConnection(socket);
    return socket.destroyed ? undefined : webSockets.takeOver(socket, receiver, compresses);
  }

  private routeOf(message: IncomingMessage): ServedRoute | undefined {
    return this.routes.first(pathOf(message), message.method);
  }

  private watchConnections(): this {
    this.server.on(this.isSecure ? 'secureConnection' : 'connection', (socket: Socket) => this.onConnection(socket));
    return this;
  }

  private onConnection(socket: Socket): void {
    this.connections.add(socket);
    socket.on('close', this.onClose);
    if (this.guard?.opened() === false) socket.destroy();
  }

  private startSweeping(): this {
    // What has arrived during a pause of this process is read first.
    this.sweeping ??= setInterval(() => setImmediate(() => this.sweep()), SWEEP_MS).unref();
    return this;
  }

  private sweep(): void {
    const now = performance.now();
    this.progress.sweep(now);
    for (const webSockets of this.webSockets) webSockets.sweep(now);
  }
}

const NOT_FOUND = 'Not Found';

function pathOf({ url = '/' }: IncomingMessage): string {
  const mark = url.indexOf('?');
  return mark === -1 ? url : url.slice(0, mark);
}

function answerNotFound(response: ServerResponse): void {
  response.writeHead(404, { 'Content-Type': 'text/plain' }).end(NOT_FOUND);
}

/** @throws GjallarError BAD_CONFIG whenever it is called */
function needsUws(method: string): (...args: never[]) => TemplatedApp {
  return (): never => {
    throw new GjallarError(
      'BAD_CONFIG',
      `App().${method}() needs a binary of uWebSockets.js, and this process has none. Use an http.Server for requests ` +
        'beside Socket.IO: new Server(httpServer).',
    );
  };
}

/** A route for any method. */
const ANY = '*';

interface Entry<Target> {
  pattern: string;
  method: string;
  target: Target;
}

/**
 * The routes of an app. As in uWebSockets.js, a route for the exact path comes before one that ends in `*`, a longer
 * pattern before a shorter one, and of one pattern a route for the method before one for any.
 */
export class Routes<Target> {
  private readonly entries: Entry<Target>[] = [];

  add(pattern: string, target: Target, method = ANY): void {
    this.entries.push({ pattern, method, target });
    this.entries.sort((one, other) => rankOf(other) - rankOf(one));
  }

  /** The route for a path. */
  first(path: string, method = ANY): Target | undefined {
    return this.entries.find((entry) => (entry.method === ANY || entry.method === method) && matches(entry, path))
      ?.target;
  }
}

function matches({ pattern }: Entry<unknown>, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

/** The higher, the earlier it is looked at. */
function rankOf({ pattern, method }: Entry<unknown>): number {
  const length = pattern.endsWith('*') ? pattern.length : Number.MAX_SAFE_INTEGER / 4;
  return 2 * length + (method === ANY ? 0 : 1);
}
