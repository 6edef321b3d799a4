import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { handleRequest } from '../../engine/http/guarded-requests.js';
import type { EngineRoute } from '../engine-route.js';
import { NodeHttpExchange } from './node-exchange.js';
import { NodeRequest } from './node-request.js';
import { Tunnel } from './tunnel.js';

/** The options for upgrades that no handler takes. */
export interface UnansweredUpgrades {
  /** Whether their connections are closed. @default true */
  destroyUpgrade?: boolean;
  /** The delay, in ms. @default 1000 */
  destroyUpgradeTimeout?: number;
}

type RequestListener = (message: IncomingMessage, response: ServerResponse) => void;

/**
 * Serves the engine on a port that node:http owns: TLS, Unix sockets, workers of node:cluster, and connections that are
 * older than the engine. It adds its listeners as engine.io does.
 */
export class NodeListeners {
  private tunnel: Tunnel | undefined;
  private readonly routes: EngineRoute[] = [];

  constructor(private readonly server: Server) {
    server.on('close', () => this.close());
  }

  add(route: EngineRoute, options: UnansweredUpgrades): void {
    const { server } = this;
    this.routes.push(route);
    this.tunnel?.add(route);
    route.engine.start();
    const others = server.listeners('request') as RequestListener[];
    server.removeAllListeners('request');
    server.on('request', (message, response) => {
      if (route.matches(message.url ?? '')) this.onRequest(route, message, response);
      else for (const listener of others) listener.call(server, message, response);
    });
    server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (route.matches(message.url ?? '')) this.onUpgrade(message, socket, head);
      else if (options.destroyUpgrade !== false) endUnanswered(socket, options.destroyUpgradeTimeout ?? 1000);
    });
  }

  private onRequest({ engine }: EngineRoute, message: IncomingMessage, response: ServerResponse): void {
    const { maxHttpBufferSize, trustProxy } = engine.settings;
    const request = new NodeRequest(message, trustProxy);
    const exchange = new NodeHttpExchange(request, message, response, maxHttpBufferSize, engine);
    handleRequest(exchange, engine, () => engine.onRequest(exchange));
  }

  private onUpgrade(message: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!this.tunnel) {
      this.tunnel = new Tunnel();
      for (const route of this.routes) this.tunnel.add(route);
    }
    this.tunnel.carry(message, socket, head);
  }

  private close(): void {
    this.tunnel?.close();
    this.tunnel = undefined;
  }
}

/** Because of the listener above, node:http does not close such a connection itself. */
function endUnanswered(socket: Duplex & { bytesWritten?: number }, timeout: number): void {
  const timer = setTimeout(() => {
    if (!socket.writable || (socket.bytesWritten ?? 0) > 0) return;
    socket.on('error', () => {});
    socket.end();
  }, timeout);
  socket.once('close', () => clearTimeout(timer));
}
