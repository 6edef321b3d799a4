import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Server as TlsServer } from 'node:tls';
import { clearTimeout, setTimeout } from '../../base/clock.js';
import { connections } from '../../engine/http/exchange.js';
import type { NodeApp } from '../../engine/node/app.js';
import { nodeApps } from '../../engine/node/load.js';
import { onError } from '../../engine/node/socket-owner.js';
import { serveHelper } from '../http/client-bundle.js';
import type { EngineRoute } from './engine-route.js';

/** The options for upgrades that no handler takes. */
export interface UnansweredUpgrades {
  /** Whether their connections are closed. @default true */
  destroyUpgrade?: boolean;
  /** The delay, in ms. @default 1000 */
  destroyUpgradeTimeout?: number;
}

type RequestListener = (message: IncomingMessage, response: ServerResponse) => void;

/** The listeners of http.Servers that Node.js, gjallar or socket.io has added. */
const ownListeners = new WeakSet<object>(createServer().listeners('connection'));

/** Events whose listeners need requests as node:http reads them, or its connections. */
const EVENTS = [
  'request',
  'upgrade',
  'connect',
  'connection',
  'checkContinue',
  'checkExpectation',
  'clientError',
] as const;

/** What socket.io answers where the application has given it only a port. */
export function answerNotFound(_message: IncomingMessage, response: ServerResponse): void {
  response.writeHead(404).end();
}
ownListeners.add(answerNotFound);

/** Serves the engine on an http.Server. It adds its listeners as engine.io does. */
export class ServerListeners {
  /** Requests to the application that have no complete response. */
  waiting = 0;
  private readonly app: NodeApp;
  private readonly others = new Set<object>();

  constructor(private readonly server: Server) {
    const before = server.listeners('connection');
    this.app = nodeApps().on(server, server instanceof TlsServer);
    for (const each of server.listeners('connection')) if (!before.includes(each)) ownListeners.add(each);
    server.on('close', () => this.app.stop());
  }

  add(route: EngineRoute, options: UnansweredUpgrades): void {
    const { server, app } = this;
    route.attach(app);
    // socket.io itself serves the bundle.
    route.serveClient(app, serveHelper);
    const others = server.listeners('request') as RequestListener[];
    for (const listener of others) if (!ownListeners.has(listener)) this.others.add(listener);
    server.removeAllListeners('request');
    const onRequest: RequestListener = (message, response) => {
      if (route.matches(message.url ?? '')) return app.onRequest(message, response);
      this.count(response);
      for (const listener of others) listener.call(server, message, response);
    };
    const onUpgrade = (message: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (route.matches(message.url ?? '')) return app.onUpgrade(message, socket as Socket, head);
      // An application may take the socket later, or never: a reset must not end the process meanwhile.
      socket.off('error', onError).on('error', onError);
      if (options.destroyUpgrade !== false) endUnanswered(socket, options.destroyUpgradeTimeout ?? 1000);
    };
    server.on('request', onRequest);
    server.on('upgrade', onUpgrade);
    for (const listener of [onRequest, onUpgrade]) ownListeners.add(listener);
  }

  /** What was added for socket.io since then is not the application's. */
  claimRequests(): void {
    for (const listener of this.server.listeners('request')) ownListeners.add(listener);
  }

  /** Whether the application has a listener for connections, or for requests that are not Socket.IO's. */
  get hasApplication(): boolean {
    const { server, others } = this;
    return others.size > 0 || EVENTS.some((event) => server.listeners(event).some((each) => !ownListeners.has(each)));
  }

  /** Several Socket.IO servers pass the same request on. */
  private count(response: ServerResponse): void {
    if (connections.areEnding) response.shouldKeepAlive = false;
    this.waiting++;
    response.once('close', () => this.waiting--);
  }
}

/** Because of the listener above, node:http does not close such a connection itself. */
function endUnanswered(socket: Duplex & { bytesWritten?: number }, timeout: number): void {
  const timer = setTimeout(() => {
    if (!socket.writable || (socket.bytesWritten ?? 0) > 0) return;
    socket.end();
  }, timeout);
  socket.once('close', () => clearTimeout(timer));
}
