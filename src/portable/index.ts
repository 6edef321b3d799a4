/**
 * Sockets on node:http and the package `ws`, for systems on which uWebSockets.js has no binary. They look like
 * uWebSockets.js's `App`, as far as gjallar uses it.
 *
 *   app.ts       the parts wired
 *   listen.ts    the server of node:http, and what it listens on
 *   http/        routes, requests, responses; the requests of a connection are handled one after the other
 *   web-socket/  the WebSockets of a route, on those of `ws`; topics, whose messages are framed once for all
 *                subscribers; a writer, which gathers what a turn sends and writes to each socket once
 */
import type { Sockets } from '../sockets.js';
import { PortableApp } from './app.js';
import type { ListenSocket } from './listen.js';

/** uWebSockets.js tells an SSLApp from an App by the name of its class alone, and so does gjallar. */
class SecureApp extends PortableApp {
  static override readonly name = 'uWS.SSLApp';
}

export const portableSockets: Sockets = {
  App: () => new PortableApp(),
  SSLApp: (options) => new SecureApp(options),
  us_listen_socket_close: (socket) => (socket as ListenSocket).close(),
  us_socket_local_port: (socket) => (socket as ListenSocket).port,
};
