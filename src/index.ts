/**
 * gjallar as a library. `Server` is socket.io's, on gjallar's engine and rooms:
 *
 * ```
 * import { Server } from 'gjallar';
 * const io = new Server(httpServer);
 * ```
 *
 * An application with its own uWebSockets.js app uses the parts:
 *
 * ```
 * const app = App();                                   // from uWebSockets.js
 * const engine = new Engine();
 * engine.attach(app, { path: '/socket.io' });
 * const io = new Server({ adapter: createAdapter(engine), parser });
 * io.bind(engine);
 * app.listen(3000, () => {});
 * ```
 */
import './compat/uws/environment.js';
import * as stock from 'socket.io';
import { defaultBus } from './backplanes/default-bus.js';
import { withoutLostState } from './backplanes/lost-state.js';
import type { Engine } from './engine/engine.js';
import { type AdapterClass, type AdapterFactory, withNativeRooms } from './rooms/index.js';

export type {
  BroadcastOperator,
  DefaultEventsMap,
  DisconnectReason,
  Event,
  ExtendedError,
  RemoteSocket,
  ServerOptions,
} from 'socket.io';
export import Namespace = stock.Namespace;
export import Socket = stock.Socket;
export type {
  AcknowledgedEvents,
  ChatMessage,
  ClientEvents,
  Failure,
  JoinReply,
  MessageInput,
  Presence,
  Reply,
  ServerEvents,
  WhoReply,
} from './chat/protocol.js';
export { type AttachOptions, Engine } from './engine/engine.js';
export type { Middleware } from './engine/http/middleware.js';
export type { EngineRequest } from './engine/http/request.js';
export type { EngineOptions } from './engine/options.js';
export type { CloseReason } from './engine/protocol/close-reasons.js';
export type { Session } from './engine/session/session.js';
// The npm package of uWebSockets.js can only be imported. From here, it can also be required.
export { App, SSLApp, us_listen_socket_close, us_socket_local_port } from './engine/sockets.js';
export { type ErrorCode, errorCodes, GjallarError } from './errors.js';
export { type ServeClientOptions, serveClient } from './http/client-bundle.js';
export * as parser from './parser/parser.js';
export { type ExpiredSession, onSessionExpired } from './recovery/session-expiry.js';
export type { AdapterClass, AdapterFactory } from './rooms/index.js';
export {
  countSockets,
  fetchReachableSockets,
  type ReachableSockets,
  type SocketCount,
} from './rooms/index.js';
export type { GjallarOptions, PortOwnerName } from './server/engine-options.js';
export { type Attachable, Server } from './server/server.js';
export type { TemplatedApp } from './sockets.js';

/**
 * An adapter whose rooms are uWebSockets.js topics, for `io.adapter()` or the server's `adapter` option.
 * @param engine the engine that the server is bound to
 * @param bus the adapter that connects this server with others: a class, or a factory such as `createAdapter()` of
 *   `@socket.io/redis-adapter`; without it, the server works alone. If the adapter cannot recover anything, the server's
 *   option `connectionStateRecovery` is turned off with a warning.
 */
export function createAdapter(engine: Engine, bus: AdapterFactory | AdapterClass = defaultBus): AdapterFactory {
  return withNativeRooms(withoutLostState(bus), engine);
}
