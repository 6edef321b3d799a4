import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Server as TlsServer } from 'node:tls';
import { NodeApp } from '../../engine/node/app.js';
import type { EngineRoute } from '../engine-route.js';

/** The options for upgrades that no handler takes. */
export interface UnansweredUpgrades {
  /** Whether their connections are closed. @default true */
  destroyUpgrade?: boolean;
  /** The delay, in ms. @default 1000 */
  destroyUpgradeTimeout?: number;
}

type RequestListener = (message: IncomingMessage, response: ServerResponse) => void;

/** Serves the engine on a port that node:http owns. It adds its listeners as engine.io does. */
export class NodeListeners {
  private readonly app: NodeApp;

  constructor(private readonly server: Server) {
    this.app = NodeApp.on(server, server instanceof TlsServer);
    server.on('close', () => this.app.stop());
  }

  add(route: EngineRoute, options: UnansweredUpgrades): void {
    const { server, app } = this;
    route.attach(app);
    const others = server.listeners('request') as RequestListener[];
    server.removeAllListeners('request');
    server.on('request', (message, response) => {
      if (route.matches(message.url ?? '')) app.onRequest(message, response);
      else for (const listener of others) listener.call(server, message, response);
    });
    server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (route.matches(message.url ?? '')) app.onUpgrade(message, socket as Socket, head);
      else if (options.destroyUpgrade !== false) endUnanswered(socket, options.destroyUpgradeTimeout ?? 1000);
    });
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
