import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { makeSocketFolder } from '../../base/socket-folders.js';
import { App, us_listen_socket_close } from '../../compat/uws.js';
import type { EngineRequest } from '../../engine/http/request.js';
import type { TemplatedApp, us_listen_socket } from '../../sockets.js';
import type { EngineRoute } from '../engine-route.js';
import { NodeRequest } from './node-request.js';

/** The id of the request that a connection of the tunnel carries. */
const TUNNEL_HEADER = 'x-gjallar-tunnel';

/**
 * Carries the engine's WebSockets from a port of node:http to uWebSockets.js, over a Unix socket that no other user can
 * open. Rooms are topics there too.
 */
export class Tunnel {
  private readonly app: TemplatedApp = App();
  private readonly folder: string | undefined;
  private readonly requests = new Map<string, IncomingMessage>();
  private readonly routes: EngineRoute[] = [];
  /** The request that portable sockets are handling. */
  private adopted: IncomingMessage | undefined;
  private listening: us_listen_socket | undefined;
  private readonly removeFolder = () => this.folder && rmSync(this.folder, { recursive: true, force: true });

  constructor() {
    // Portable sockets take the connection itself.
    if (this.app.adopt) return;
    this.folder = makeSocketFolder();
    this.app.listen_unix((socket) => {
      this.listening = socket;
    }, this.path);
    process.once('exit', this.removeFolder);
  }

  private get path(): string {
    return join(this.folder!, 'tunnel');
  }

  add(route: EngineRoute): void {
    this.routes.push(route);
    route.attach(this.app, undefined, (_res, req) => this.requestOf(req.getHeader(TUNNEL_HEADER), route));
  }

  /** Passes an upgrade on. */
  carry(message: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.app.adopt) {
      this.adopted = message;
      this.app.adopt(message, socket as Socket, head);
      this.adopted = undefined;
      return;
    }
    const id = randomUUID();
    this.requests.set(id, message);
    const inside = connect(this.path);
    inside.write(headOf(message, id), 'latin1');
    if (head.length > 0) inside.write(head);
    inside.pipe(socket);
    socket.pipe(inside);
    const end = () => {
      this.requests.delete(id);
      inside.destroy();
      socket.destroy();
    };
    for (const one of [inside, socket]) one.on('error', end).on('close', end);
  }

  /** Call it when no client is left. */
  close(): void {
    if (this.listening) us_listen_socket_close(this.listening);
    for (const { engine } of this.routes) engine.detach(this.app);
    this.app.close();
    process.removeListener('exit', this.removeFolder);
    this.removeFolder();
  }

  /**
   * Undefined if node:http has not read the request: a client whose upgrade was rejected has sent another request on the
   * same connection. uWebSockets.js would parse it, although no limit of node:http was applied to it.
   */
  private requestOf(id: string, { engine }: EngineRoute): EngineRequest | undefined {
    const message = this.adopted ?? this.requests.get(id);
    if (!message) return undefined;
    this.requests.delete(id);
    return new NodeRequest(message, engine.settings.trustProxy);
  }
}

/** The head of a request as it was received, with the id of the request. */
function headOf({ method, url, rawHeaders }: IncomingMessage, id: string): string {
  let text = `${method} ${url} HTTP/1.1\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.toLowerCase() !== TUNNEL_HEADER) text += `${name}: ${rawHeaders[index + 1]}\r\n`;
  }
  return `${text}${TUNNEL_HEADER}: ${id}\r\n\r\n`;
}
