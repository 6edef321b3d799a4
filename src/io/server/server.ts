import type { Server as HttpServer } from 'node:http';
import type { Http2SecureServer, Http2Server } from 'node:http2';
import type { Server as HttpsServer } from 'node:https';
import type { DefaultEventsMap } from 'socket.io';
// A named import of an old version fails before anything can say why.
import * as stock from 'socket.io';
import { checkCopy } from '../../base/process.js';
import type { TemplatedApp } from '../../engine/uws/app.js';
import { checkVersion, installedCopy } from '../socket-io-version.js';
import type { ServerOptions } from './engine-options.js';
import { install } from './install.js';
import type { ServerMembers } from './types.js';

checkCopy();
checkVersion(installedCopy());

/** The objects to which a server can be attached. */
export type Attachable = HttpServer | HttpsServer | Http2Server | Http2SecureServer | TemplatedApp | number;

/** socket.io's class, with the members of gjallar in its type. */
const Base = stock.Server as unknown as new <Listen extends object, Emit extends object, Between extends object, Data>(
  attachable?: Attachable | Partial<ServerOptions>,
  options?: Partial<ServerOptions>,
) => ServerMembers<Listen, Emit, Between, Data> & stock.Server<Listen, Emit, Between, Data>;

/**
 * socket.io's Server on gjallar, with the same API. It replaces `import { Server } from 'socket.io'`.
 *
 * ```
 * const io = new Server(httpServer, { cors: { origin: 'https://example.com' } });
 * httpServer.listen(3000);
 * ```
 *
 * node:http listens on the port of an http.Server with a handler of the application, and uWebSockets.js on that of one which
 * serves nothing but Socket.IO. docs/move.md has the details.
 */
export class Server<
  ListenEvents extends object = DefaultEventsMap,
  EmitEvents extends object = ListenEvents,
  ServerSideEvents extends object = DefaultEventsMap,
  // biome-ignore lint/suspicious/noExplicitAny: socket.io's own default
  SocketData = any,
> extends Base<ListenEvents, EmitEvents, ServerSideEvents, SocketData> {
  /**
   * @param attachable an HTTP server, a port, or a uWebSockets.js app; optional
   * @param options socket.io's options, and those of {@link EngineOptions}
   */
  constructor(attachable?: Attachable | Partial<ServerOptions>, options?: Partial<ServerOptions>) {
    super(attachable, options);
  }
}

install(Server.prototype);
