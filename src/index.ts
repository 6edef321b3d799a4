/**
 * gjallar as a library: the engine and the rooms, for an application that keeps socket.io and its API.
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
import type { Engine } from './engine/engine.js';
import { type AdapterFactory, withNativeRooms } from './rooms/native-rooms.js';
import { inMemory, refusingLostState } from './rooms/recovery.js';

export type {
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
export { type ErrorCode, errorCodes, GjallarError } from './errors.js';
export { type ServeClientOptions, serveClient } from './http/client-bundle.js';
export * as parser from './parser/parser.js';
export type { AdapterFactory } from './rooms/native-rooms.js';

/**
 * An adapter whose rooms are uWebSockets.js topics, for `io.adapter()` or the server's `adapter` option.
 * @param engine the engine that the server is bound to
 * @param bus the adapter that connects this server with others, such as `createAdapter()` of
 *   `@socket.io/redis-adapter`; without it, the server works alone
 * @throws GjallarError BAD_CONFIG, from the server's constructor or `io.of()`, if the server's option
 *   `connectionStateRecovery` is set and the adapter cannot recover anything
 */
export function createAdapter(engine: Engine, bus: AdapterFactory = inMemory): AdapterFactory {
  return withNativeRooms(refusingLostState(bus), engine);
}
