import cluster from 'node:cluster';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clearInterval, nextTick, setImmediate, setInterval } from '../../../base/clock.js';
import { replaceMethod } from '../../../base/foreign-objects.private.js';
import { thisProcess } from '../../../base/process.js';
import { warnOnce } from '../../../base/warnings.js';
import { hostOfOthers } from '../../../engine/http/guarded-requests.js';
import {
  addConnections,
  isUnref,
  type ListenHandle,
  setHandle,
  tcpHandleOf,
} from '../../../engine/node/node-net.private.js';
import { routeHttp } from '../../../engine/routes.js';
import type { Session } from '../../../engine/session/session.js';
import { App, us_listen_socket_close } from '../../../engine/sockets.js';
import type { TemplatedApp, us_listen_socket } from '../../../engine/uws/app.js';
import type { EngineRoute } from '../engine-route.js';
import type { ServerListeners } from '../listeners.js';

/** Owns the port of an http.Server in this process. */
export type SharedOwner = Pick<PortOwner, 'takesPort' | 'listenShared' | 'retire' | 'isIdle'>;

/** The ports that several processes listen on. */
export interface PortSharing {
  /** Called with the owner of the port of each http.Server that has a Socket.IO server. */
  own(server: Server, owner: SharedOwner): void;
}

declare module '../../../base/process.js' {
  interface ProcessHost {
    /** Undefined if this process owns its ports alone. */
    sharedPorts?: PortSharing;
  }
}

/**
 * Makes uWebSockets.js own the port of an http.Server that serves nothing but Socket.IO. node:net listens first, and handles
 * arguments, host names, port 0 and errors. Then uWebSockets.js replaces it on the same address, in the same turn of the
 * event loop.
 */
export class PortOwner {
  private readonly routes: EngineRoute[] = [];
  private current: OwnedPort | undefined;
  private mayMove = false;

  /** @param isAllowed whether uWebSockets.js may own the port */
  constructor(
    private readonly server: Server,
    private readonly listeners: ServerListeners,
    private readonly isAllowed: boolean,
  ) {
    replaceMethod(server, 'closeAllConnections', (_server, _args, close) => {
      this.current?.closePolling();
      close();
    });
    replaceMethod(server, 'getConnections', (_server, args, count) => {
      const open = this.current?.openConnections;
      if (open === undefined) return count(...args);
      process.nextTick(args[0] as (error: null, count: number) => void, null, open);
      return server;
    });
    const { sharedPorts: shared } = thisProcess;
    if (shared) {
      shared.own(server, this);
      return;
    }
    if (!isAllowed) return;
    // Without this, a client that connects in the same turn would enter the queue of a socket that is about to close.
    replaceMethod(server, 'listen', (_server, args, listen) => {
      this.mayMove = this.takesPort && !isUnref(server) && !needsNode(args[0]);
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

  /** Whether uWebSockets.js is to listen; otherwise node:http does. */
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
    if (!this.listen(local, false)) nextTick(() => server.emit('error', taken(local)));
  }

  /** Listens on a port that other processes listen on too. Returns false if it is not possible. */
  listenShared(local: AddressInfo): boolean {
    return this.listen(local, true);
  }

  /** Accepts no new connections from now on. The application does not notice. */
  retire(): void {
    this.current?.retire();
  }

  /** Whether no request is in progress. */
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
    listeners: ServerListeners,
    private readonly local: AddressInfo,
  ) {
    routeHttp(this.app, hostOfOthers(), {
      pattern: '/*',
      secure: false,
      handle: (exchange) => exchange.send(listeners.hasApplication ? 501 : 404, {}, ''),
    });
  }

  get openConnections(): number | undefined {
    return this.routes[0]?.engine.connectionGuard.open;
  }

  listen(isShared: boolean): PortHandle | undefined {
    this.handle = PortHandle.listen(this.app, this.local, isShared, () => this.onClose());
    return this.handle;
  }

  retire(): void {
    this.handle?.retire();
  }

  add(route: EngineRoute): void {
    this.routes.push(route);
    const { server } = this;
    route.engine.connectionGuard.applicationLimit = () => server.maxConnections || Number.POSITIVE_INFINITY;
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

/** Other processes of the same user may share the port. */
const SHARED = 0;
/** No other process of the same user may share the port. */
const EXCLUSIVE = 1;

/**
 * A port on which uWebSockets.js listens. It replaces the handle of a node:net server. The server's own `address()`,
 * `listening` and `close()` work with it unchanged.
 */
class PortHandle implements ListenHandle {
  readonly fd = -1;
  private isRetired = false;

  private constructor(
    private readonly sockets: us_listen_socket[],
    private readonly local: AddressInfo,
    private readonly onClose: () => void,
  ) {}

  /** Makes an app listen. Returns undefined if the port is in use. */
  static listen(app: TemplatedApp, local: AddressInfo, isShared: boolean, onClose: () => void): PortHandle | undefined {
    const mode = isShared ? SHARED : EXCLUSIVE;
    const socket = openOn(app, local, mode);
    return socket && new PortHandle([socket], local, onClose);
  }

  /** Accepts no new connections from now on. The server does not notice. */
  retire(): void {
    if (this.isRetired) return;
    this.isRetired = true;
    for (const socket of this.sockets) us_listen_socket_close(socket);
  }

  close(callback?: () => void): void {
    this.retire();
    this.onClose();
    if (callback) nextTick(callback);
  }

  getsockname(address: object): number {
    Object.assign(address, this.local);
    return 0;
  }

  /** The loop stays alive as long as uWebSockets.js listens. */
  ref(): void {}

  unref(): void {
    warnOnce(
      'GJALLAR_PORT_OWNER',
      'unref() of an http.Server has no effect while uWebSockets.js listens on the port, so the process does not end by ' +
        "itself. Call unref() before listen(), or pass portOwner: 'node'.",
    );
  }

  hasRef(): boolean {
    return true;
  }
}

function openOn(app: TemplatedApp, { address, port }: AddressInfo, mode: number): us_listen_socket | undefined {
  let opened: us_listen_socket | undefined;
  // listen() calls it before it returns.
  const done = (socket: us_listen_socket | false) => {
    opened = socket || undefined;
  };
  // Without a host, uWebSockets.js listens on both address families, as node:net does with `::`.
  const listen = app.listen as (...args: unknown[]) => void;
  if (address === '::') listen.call(app, port, mode, done);
  else listen.call(app, address, port, mode, done);
  return opened;
}
