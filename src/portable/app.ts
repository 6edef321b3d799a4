import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type {
  AppOptions,
  HttpRequest,
  HttpResponse,
  Listening,
  TemplatedApp,
  us_listen_socket,
  WebSocketBehavior,
  Writable,
} from '../sockets.js';
import { HttpConnection } from './http/connection.js';
import { PortableRequest } from './http/request.js';
import type { PortableResponse } from './http/response.js';
import { Routes } from './http/routes.js';
import { isHandshake, PortableUpgrade } from './http/upgrade.js';
import { ListenSocket, listen, serverOf } from './listen.js';
import { WebSocketRoute } from './web-socket/route.js';
import { Topics } from './web-socket/topics.js';
import { Writer } from './web-socket/writer.js';

type Handler = (res: HttpResponse, req: HttpRequest) => void;

/** How often silent WebSockets and slow requests are looked for; uWebSockets.js's clock ticks as often. */
const SWEEP_MS = 4000;

/** An app of uWebSockets.js on node:http and `ws`. */
export class PortableApp implements TemplatedApp {
  readonly get = this.routeFor('GET');
  readonly post = this.routeFor('POST');
  readonly put = this.routeFor('PUT');
  readonly patch = this.routeFor('PATCH');
  readonly del = this.routeFor('DELETE');
  readonly head = this.routeFor('HEAD');
  readonly options = this.routeFor('OPTIONS');
  readonly any = this.routeFor('*');

  private readonly server: Server;
  private readonly connections = new Map<Socket, HttpConnection>();
  private readonly routes = new Routes<Handler>();
  private readonly upgrades = new Routes<WebSocketRoute>();
  private readonly webSocketRoutes: WebSocketRoute[] = [];
  private readonly topics = new Topics();
  private readonly writer = new Writer();
  private counts: ((res: HttpResponse, change: number) => void) | undefined;
  private sweeping: NodeJS.Timeout | undefined;
  /** One listener for all sockets, which are its `this`. */
  private readonly onClose: (this: Socket) => void;

  constructor(options?: AppOptions) {
    const app = this;
    this.onClose = function () {
      app.onGone(this);
    };
    this.server = serverOf(options);
    this.server.on(options ? 'secureConnection' : 'connection', (socket: Socket) => this.onConnection(socket));
    this.server.on('request', (message, response) =>
      this.connections.get(message.socket)?.onRequest(message, response),
    );
    this.server.on('upgrade', (message, socket, head) => this.adopt(message, socket as Socket, head));
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

  ws<UserData>(pattern: string, behavior: WebSocketBehavior<UserData>): this {
    const route = new WebSocketRoute(behavior as WebSocketBehavior<unknown>, this.topics, this.writer);
    this.upgrades.add(pattern, route);
    this.webSocketRoutes.push(route);
    return this.startSweeping();
  }

  publish(topic: string, message: Writable, isBinary = false, compress = false): boolean {
    return this.topics.publish(topic, message, isBinary, compress);
  }

  numSubscribers(topic: string): number {
    return this.topics.count(topic);
  }

  filter(handler: (res: HttpResponse, change: number) => void): this {
    this.counts = handler;
    return this;
  }

  close(): this {
    clearInterval(this.sweeping);
    new ListenSocket(this.server).close();
    for (const socket of this.connections.keys()) socket.destroy();
    for (const { sockets } of this.webSocketRoutes) for (const socket of sockets) socket.close();
    return this;
  }

  /** Takes a request for a WebSocket from a server of node:http that the application has. */
  adopt(message: IncomingMessage, socket: Socket, head: Buffer): void {
    // The response to an earlier request would be written into the frames.
    if (this.connections.get(socket)?.isServing) return void socket.destroy();
    const request = new PortableRequest(message);
    const [route] = isHandshake(message) ? this.upgrades.matching(request.getUrl()) : [];
    const response = new PortableUpgrade(message, socket, head, (...what) => {
      // The end of a WebSocket is not reported to the filter, as in uWebSockets.js.
      this.connections.delete(socket);
      socket.removeListener('close', this.onClose);
      route!.accept(...what);
    });
    if (route) route.onRequest(response, request);
    else this.handle(response, request);
    response.wait();
  }

  private onConnection(socket: Socket): void {
    const connection = new HttpConnection(socket, this.handle);
    this.connections.set(socket, connection);
    socket.on('close', this.onClose);
    this.counts?.(connection.closable, 1);
  }

  private onGone(socket: Socket): void {
    const connection = this.connections.get(socket);
    this.connections.delete(socket);
    if (connection) this.counts?.(connection.closable, -1);
  }

  private readonly handle = (response: PortableResponse, request: PortableRequest): void => {
    const { method = '' } = request.message;
    for (const handler of this.routes.matching(request.getUrl(), method)) {
      handler(response, request);
      if (!request.isYielded) return;
      request.setYield(false);
    }
    response.writeStatus('404 File Not Found').end('File Not Found');
  };

  private routeFor(method: string) {
    return (pattern: string, handler: Handler): TemplatedApp => {
      this.routes.add(pattern, handler, method);
      return this;
    };
  }

  private startSweeping(): this {
    // What has arrived during a pause of this process is read first.
    this.sweeping ??= setInterval(() => setImmediate(() => this.sweep()), SWEEP_MS).unref();
    return this;
  }

  private sweep(): void {
    const now = performance.now();
    for (const connection of this.connections.values()) connection.checkBody(now);
    for (const route of this.webSocketRoutes) route.sweep(now);
  }
}
