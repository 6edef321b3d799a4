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
import { Adapter } from 'socket.io-adapter';
import type { Engine } from './engine/engine.js';
import { type AdapterFactory, withNativeRooms } from './rooms/native-rooms.js';

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
export type { Middleware } from './engine/middleware.js';
export type { EngineOptions } from './engine/options.js';
export type { EngineRequest } from './engine/request.js';
export type { CloseReason, Session } from './engine/session.js';
export { type ErrorCode, errorCodes, GjallarError } from './errors.js';
export * as parser from './parser/parser.js';
export type { AdapterFactory } from './rooms/native-rooms.js';

/**
 * An adapter whose rooms are uWebSockets.js topics, for `io.adapter()` or the server's `adapter` option.
 * @param engine the engine that the server is bound to
 * @param bus what joins this server with others, such as `createAdapter()` of `@socket.io/redis-adapter`;
 *   without it the server stands alone
 */
export function createAdapter(engine: Engine, bus: AdapterFactory = (nsp) => new Adapter(nsp)): AdapterFactory {
  return withNativeRooms(bus, engine);
}
