import type { TemplatedApp } from 'uWebSockets.js';
import type { Server as HttpServer } from 'node:http';
import type { Http2SecureServer, Http2Server } from 'node:http2';
import type { Server as HttpsServer } from 'node:https';
import { type DefaultEventsMap, Server as StockServer } from 'socket.io';
import { checkVersion, installedVersion } from '../compat/socket-io-server.js';
import type { GjallarOptions } from './engine-options.js';
import { install } from './install.js';

checkVersion(installedVersion());

/** What a server can be attached to. */
export type Attachable = HttpServer | HttpsServer | Http2Server | Http2SecureServer | TemplatedApp | number;

/**
 * socket.io's Server on gjallar: the same API, in the place of `import { Server } from 'socket.io'`.
 *
 * ```
 * const io = new Server(httpServer, { cors: { origin: 'https://example.com' } });
 * httpServer.listen(3000);
 * ```
 *
 * uWebSockets.js owns the port of a plain http.Server, and hands it what is not Socket.IO's. A server with TLS, or on a
 * Unix socket, keeps its port, and hands Socket.IO's WebSockets on. docs/move.md has the details.
 */
export class Server<
  ListenEvents extends object = DefaultEventsMap,
  EmitEvents extends object = ListenEvents,
  ServerSideEvents extends object = DefaultEventsMap,
  // biome-ignore lint/suspicious/noExplicitAny: socket.io's own default
  SocketData = any,
> extends StockServer<ListenEvents, EmitEvents, ServerSideEvents, SocketData> {
  /**
   * @param attachable an HTTP server, a port, or a uWebSockets.js app; may be left out
   * @param options socket.io's options, and those of {@link EngineOptions}
   */
  constructor(attachable?: Attachable | Partial<GjallarOptions>, options?: Partial<GjallarOptions>) {
    super(attachable as number, options);
  }
}

install(Server.prototype);
