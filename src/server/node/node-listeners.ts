import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { EngineRoute } from '../engine-route.js';
import { NodeExchange } from './node-exchange.js';
import { NodeRequest } from './node-request.js';
import { Tunnel } from './tunnel.js';

/** What becomes of upgrades that nobody answers. */
export interface UnansweredUpgrades {
  /** Whether they are ended. @default true */
  destroyUpgrade?: boolean;
  /** After how long, in ms. @default 1000 */
  destroyUpgradeTimeout?: number;
}

type RequestListener = (message: IncomingMessage, response: ServerResponse) => void;

/**
 * Serves the engine on a port that node:http owns: TLS, Unix sockets, workers of node:cluster, and connections that were
 * there before uWebSockets.js. The listeners are set up as engine.io sets them up.
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
    engine.onRequest(new NodeExchange(request, message, response, maxHttpBufferSize));
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

/** Without a listener, node:http would end such a connection itself. */
function endUnanswered(socket: Duplex & { bytesWritten?: number }, timeout: number): void {
  const timer = setTimeout(() => {
    if (!socket.writable || (socket.bytesWritten ?? 0) > 0) return;
    socket.on('error', () => {});
    socket.end();
  }, timeout);
  socket.once('close', () => clearTimeout(timer));
}
