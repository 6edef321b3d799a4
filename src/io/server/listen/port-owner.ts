import cluster from 'node:cluster';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { replaceMethod } from '../../../base/foreign-objects.private.js';
import { thisProcess } from '../../../base/process.js';
import { warnOnce } from '../../../base/warnings.js';
import { hostOfOthers } from '../../../engine/http/guarded-requests.js';
import { addConnections, setHandle, tcpHandleOf } from '../../../engine/node/node-net.private.js';
import { routeHttp } from '../../../engine/routes.js';
import type { Session } from '../../../engine/session/session.js';
import { App } from '../../../engine/sockets.js';
import type { TemplatedApp } from '../../../engine/uws/app.js';
import type { EngineRoute } from '../engine-route.js';
import type { Listeners } from '../listeners.js';
import { PortHandle } from './port-handle.js';

/** Owns the port of an http.Server in this process. */
export interface SharedOwner {
  /** Whether uWebSockets.js is to listen; otherwise node:http does. */
  readonly takesPort: boolean;
  /** Listens on a port that other processes listen on too. Returns false if it is not possible. */
  listenShared(local: AddressInfo): boolean;
  /** Listens on a further port, as long as it listens on the shared one. Returns false if it is not possible. */
  listenAlso(local: AddressInfo): boolean;
  /** Accepts no new connections from now on. The application does not notice. */
  retire(): void;
  /** Whether no request is in progress. */
  readonly isIdle: boolean;
}

/** The ports that several processes listen on. */
export interface SharedPorts {
  /** Called with the owner of the port of each http.Server that has a Socket.IO server. */
  own(server: Server, owner: SharedOwner): void;
}

declare module '../../../base/process.js' {
  interface ProcessHost {
    /** Undefined if this process owns its ports alone. */
    sharedPorts?: SharedPorts;
  }
}

/**
 * Makes uWebSockets.js own the port of an http.Server that serves nothing but Socket.IO. node:net listens first, and handles
 * arguments, host names, port 0 and errors. Then uWebSockets.js replaces it on the same address, in the same turn of the
 * event loop.
 */
export class PortOwner implements SharedOwner {
  private readonly routes: EngineRoute[] = [];
  private current: OwnedPort | undefined;
  private mayMove = false;

  /** @param isAllowed whether uWebSockets.js may own the port */
  constructor(
    private readonly server: Server,
    private readonly listeners: Listeners,
    private readonly isAllowed: boolean,
  ) {
    replaceMethod(server, 'closeAllConnections', (_server, _args, close) => {
      this.current?.closePolling();
      close();
    });
    const { sharedPorts: shared } = thisProcess;
    if (shared) {
      shared.own(server, this);
      return;
    }
    if (!isAllowed) return;
    // Without this, a client that connects in the same turn would enter the queue of a socket that is about to close.
    replaceMethod(server, 'listen', (_server, args, listen) => {
      this.mayMove = this.takesPort && !needsNode(args[0]);
      listen(...args);
      this.takeOver();
      return server;
    });
    // With a host name, node:net listens later.
    server.prependListener('listening', () => this.takeOver());
  }

  /** Adds an engine on its path. */
  add(route: EngineRoute): void {
    this.routes.push(route);
    this.current?.add(route);
  }

  get takesPort(): boolean {
    return this.isAllowed && !this.listeners.hasApplication;
  }

  private takeOver(): void {
    const { server } = this;
    // Workers of node:cluster share a port that their primary listens on.
    if (!this.mayMove || cluster.isWorker) return;
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
    return this.listeners.waiting === 0;
  }

  private listen(local: AddressInfo, isShared: boolean): boolean {
    const { server, routes, listeners } = this;
    const owned = new OwnedPort(server, listeners, local);
    const port = owned.listen(isShared);
    setHandle(server, port ?? null);
    if (!port) return false;
    this.current = owned;
    for (const route of routes) owned.add(route);
    // A further Socket.IO server adds listeners too.
    server.on('newListener', () => setImmediate(() => listeners.hasApplication && warnOfLateListener()));
    return true;
  }
}

/** Whether `listen()` has options that uWebSockets.js does not support. */
function needsNode(options: unknown): boolean {
  const { ipv6Only, reusePort } = Object(options) as { ipv6Only?: boolean; reusePort?: boolean };
  return Boolean(ipv6Only || reusePort);
}

function warnOfLateListener(): void {
  warnOnce(
    'GJALLAR_PORT_OWNER',
    'The application has added a listener to its http.Server after listen(). It gets no requests, which are answered with ' +
      "501, because uWebSockets.js listens on the port. Add the listener before listen(), or pass portOwner: 'node'.",
  );
}

/** A port, from `listen()` until its last client has gone. */
class OwnedPort {
  private readonly app: TemplatedApp = App();
  private readonly routes: EngineRoute[] = [];
  private handle: PortHandle | undefined;

  constructor(
    private readonly server: Server,
    listeners: Listeners,
    private readonly local: AddressInfo,
  ) {
    routeHttp(this.app, hostOfOthers(), {
      pattern: '/*',
      secure: false,
      handle: (exchange) => exchange.send(listeners.hasApplication ? 501 : 404, {}, ''),
    });
  }

  listen(isShared: boolean): PortHandle | undefined {
    this.handle = PortHandle.listen(this.app, this.local, isShared, () => this.onClose());
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
    route.attach(this.app);
    route.serveClient(this.app);
  }

  /** Like node:http, it leaves the connections of WebSockets open. */
  closePolling(): void {
    for (const { engine } of this.routes) {
      for (const session of Object.values(engine.clients)) if (session.polling) session.close(true);
    }
  }

  /** As with node:http, the server emits `close` once no WebSocket and no poll is open. node:net knows of neither. */
  private onClose(): void {
    addConnections(this.server, 1);
    const looking = setInterval(() => {
      if (this.routes.some(({ engine }) => Object.values(engine.clients).some(isConnected))) return;
      clearInterval(looking);
      for (const { engine } of this.routes) engine.detach(this.app);
      this.app.close();
      addConnections(this.server, -1);
    }, LOOK_MS);
  }
}

/** How often a port that is closing looks whether its clients have gone, in ms. */
const LOOK_MS = 20;

const isConnected = ({ polling }: Session) => polling === undefined || polling.canSend || polling.isReceiving;
/** The error of node:net. */
export function taken({ address, port }: AddressInfo): Error {
  const host = address.includes(':') ? `[${address}]` : address;
  return Object.assign(new Error(`listen EADDRINUSE: address already in use ${host}:${port}`), {
    code: 'EADDRINUSE',
    syscall: 'listen',
    address,
    port,
  });
}
