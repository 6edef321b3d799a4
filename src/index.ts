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
import './engine/uws/environment.js';
import { requireHere } from './base/package.js';
import type { Engine } from './engine/engine.js';
import type * as Recovery from './features/recovery/index.js';
import type { AnyNamespace, AnyServer } from './io/any.js';
import { type AdapterClass, type AdapterFactory, withNativeRooms } from './io/rooms/native-rooms.js';
import { defaultBus, withoutLostState } from './io/server/default-adapter.js';

export type {
  BroadcastOperator,
  DefaultEventsMap,
  DisconnectReason,
  Event,
  ExtendedError,
  RemoteSocket,
} from 'socket.io';
export { type ErrorCode, errorCodes, type Failure, GjallarError } from './base/errors.js';
export type { CloseReason } from './engine/counters.js';
export { type AttachOptions, Engine } from './engine/engine.js';
export type { Middleware } from './engine/http/middleware.js';
export type { EngineRequest } from './engine/http/request.js';
export type { EngineOptions } from './engine/options.js';
export * as parser from './engine/parser/parser.js';
export type { Session } from './engine/session/session.js';
// The npm package of uWebSockets.js can only be imported. From here, it can also be required.
export { App, SSLApp, us_listen_socket_close, us_socket_local_port } from './engine/sockets.js';
export type { TemplatedApp } from './engine/uws/app.js';
export type { ExpiredSession } from './features/recovery/index.js';
export { type ServeClientOptions, serveClient } from './io/http/client-bundle.js';
export {
  askServers,
  countSockets,
  fetchReachableSockets,
  type ReachableSockets,
  type SocketCount,
} from './io/rooms/cluster-sockets.js';
export type { AdapterClass, AdapterFactory } from './io/rooms/native-rooms.js';
export type { PortOwnerName, ServerOptions } from './io/server/engine-options.js';
export { type Attachable, Server } from './io/server/server.js';
export { Namespace, Socket } from './io/server/types.js';
export type {
  AcknowledgedEvents,
  ChatMessage,
  ClientEvents,
  JoinReply,
  MessageInput,
  Reply,
  RoomPresence as Presence,
  ServerEvents,
  WhoReply,
} from './service/chat/protocol.js';

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

/**
 * Tells the application that the session of a client can no longer be recovered: the time of `connectionStateRecovery` is
 * over, the client has returned too late or lacks packets that are gone, or the operator has ended the session.
 *
 * ```
 * onSessionExpired(io, ({ id, data }) => leaveGame(data?.player));
 * ```
 *
 * Call it on every worker, before clients connect. One of the workers is told, up to 5 s after the end of the time. If the
 * worker that served the client is gone, another one is told. With several machines, that takes up to 43 s more.
 *
 * @param of a server, whose namespace `/` is meant, or a namespace
 * @returns what ends it
 * @throws GjallarError BAD_INPUT without the option `connectionStateRecovery`
 */
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own default
export function onSessionExpired<Data = any>(
  of: AnyServer<Data> | AnyNamespace<Data>,
  listener: (session: Recovery.ExpiredSession<Data>) => void,
): () => void {
  return (requireHere('./features/recovery/index.js') as typeof Recovery).watchExpiries(of, listener);
}
