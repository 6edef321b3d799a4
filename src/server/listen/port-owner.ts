import cluster from 'node:cluster';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setHandle, tcpHandleOf } from '../../compat/node-net.js';
import { App } from '../../engine/sockets.js';
import { type Buffers, HeldBytes } from '../../engine/delivery/held-bytes.js';
import type { TemplatedApp } from '../../sockets.js';
import type { EngineRoute } from '../engine-route.js';
import { HttpBridge } from '../http/http-bridge.js';
import { WebSocketBridge } from '../upgrade/websocket-bridge.js';
import { PortHandle } from './port-handle.js';
import { type SharedOwner, sharedListening, taken } from './shared-listening.js';
import { reportUnread } from './unread.js';

/**
 * Makes uWebSockets.js own the port of an http.Server. node:net listens first, and handles arguments, host names, port 0
 * and errors. Then uWebSockets.js replaces it on the same address, in the same turn of the event loop.
 */
export class PortOwner implements SharedOwner {
  private readonly routes: EngineRoute[] = [];
  private current: OwnedPort | undefined;
  private isLeftToNode = false;

  /** @param maxPayload the most bytes of a message to the application's own WebSockets; undefined if its library decides */
  constructor(
    private readonly server: Server,
    private readonly maxPayload: number | undefined,
  ) {
    const { listen, closeAllConnections } = server;
    server.closeAllConnections = () => {
      this.current?.bridge.closeAll();
      closeAllConnections.call(server);
    };
    const shared = sharedListening();
    if (shared) {
      shared.own(server, this);
      return;
    }
    // Without this, a client that connects in the same turn would enter the queue of a socket that is about to close.
    server.listen = (...args: unknown[]) => {
      this.isLeftToNode = needsNode(args[0]);
      (listen as (...args: unknown[]) => void).apply(server, args);
      this.takeOver();
      return server;
    };
    // With a host name, node:net listens later.
    server.prependListener('listening', () => this.takeOver());
    this.takeOver();
  }

  /** Adds an engine on its path. */
  add(route: EngineRoute): void {
    this.routes.push(route);
    this.current?.add(route);
  }

  private takeOver(): void {
    const { server } = this;
    // Workers of node:cluster share a port that their primary listens on.
    if (this.isLeftToNode || cluster.isWorker) return;
    const handle = tcpHandleOf(server);
    if (!handle) return;
    const local = server.address() as AddressInfo;
    handle.close();
    if (!this.listen(local, false)) process.nextTick(() => server.emit('error', taken(local)));
  }

  listenShared(local: AddressInfo): boolean {
    return this.listen(local, true);
  }

  listenAlso(local: AddressInfo): boolean {
    return this.current?.listenAlso(local) ?? false;
  }

  retire(): void {
    this.current?.retire();
  }

  get isIdle(): boolean {
    return this.current?.bridge.isIdle ?? true;
  }

  private listen(local: AddressInfo, isShared: boolean): boolean {
    const { server, routes, maxPayload } = this;
    const owned = new OwnedPort(server, local, maxPayload);
    const port = owned.listen(isShared);
    setHandle(server, port ?? null);
    if (!port) return false;
    this.current = owned;
    for (const route of routes) owned.add(route);
    return true;
  }
}

/** Whether `listen()` has options that uWebSockets.js does not support. */
function needsNode(options: unknown): boolean {
  const { ipv6Only, reusePort } = Object(options) as { ipv6Only?: boolean; reusePort?: boolean };
  return Boolean(ipv6Only || reusePort);
}

/** A port, from `listen()` until its last connection has ended. */
class OwnedPort {
  readonly bridge: HttpBridge;
  private readonly app: TemplatedApp = App();
  private readonly webSockets: WebSocketBridge;
  private readonly routes: EngineRoute[] = [];
  private handle: PortHandle | undefined;
  private isClosing = false;
  private isEnded = false;

  constructor(
    server: Server,
    private readonly local: AddressInfo,
    maxPayload: number | undefined,
  ) {
    const endIfIdle = () => this.endIfIdle();
    reportUnread(this.app, () => this.isEnded);
    const without = { incoming: new HeldBytes(), outgoing: new HeldBytes() };
    const buffers = (): Buffers => this.routes[0]?.engine ?? without;
    const keepAlive = () => this.routes[0]?.engine.settings.keepAlive ?? 'auto';
    this.bridge = new HttpBridge(server, local, endIfIdle, buffers, keepAlive);
    this.webSockets = new WebSocketBridge(server, this.bridge, local, endIfIdle, buffers, maxPayload);
    this.app.any('/*', this.bridge.handle);
    this.webSockets.attach(this.app);
  }

  listen(isShared: boolean): PortHandle | undefined {
    this.handle = PortHandle.listen(this.app, this.local, isShared, () => {
      this.isClosing = true;
      for (const { engine } of this.routes) {
        for (const session of Object.values(engine.clients))
          session.once('close', () => setImmediate(() => this.endIfIdle()));
      }
      this.endIfIdle();
    });
    return this.handle;
  }

  listenAlso(local: AddressInfo): boolean {
    return this.handle?.listenAlso(this.app, local) ?? false;
  }

  retire(): void {
    this.handle?.retire();
  }

  add(route: EngineRoute): void {
    this.routes.push(route);
    route.attach(this.app, this.bridge.handle);
  }

  /** Once no request and no client is left, closes the connections that are only kept alive. */
  private endIfIdle(): void {
    if (!this.isClosing || !this.bridge.isIdle || !this.webSockets.isIdle) return;
    if (this.routes.some(({ engine }) => engine.clientsCount > 0)) return;
    this.isClosing = false;
    // Not from within a handler of the app, whose response must be written first.
    setImmediate(() => {
      for (const { engine } of this.routes) engine.detach(this.app);
      this.isEnded = true;
      this.app.close();
    });
  }
}
