/**
 * From the kernel to a session of Engine.IO.
 *
 * It promises: what a client sends is bounded before it is read, what it does not read is bounded before it is kept, and
 * packets leave in the order in which they were written.
 *
 *   uws/, node/     the two bases: uWebSockets.js and node:http; http/exchange.ts is all that the rest knows of them
 *   http/           requests: their path, CORS, bodies, the heads of responses
 *   protocol/       packets and payloads of both revisions of Engine.IO
 *   session/        a client's session: handshake, heartbeat, upgrade, end
 *   transports/     polling and WebSocket
 *   delivery/       the outbox: what a busy worker writes to each subscriber once in a window
 *   incoming/, limits/  the bounds of what clients send, hold and cost
 *   parser/         Socket.IO's parser, with short paths for common packets
 *
 * Begin with engine.ts. It knows nothing of Socket.IO but the parser.
 */

export { Outbox } from './delivery/outbox.js';
export { Engine } from './engine.js';
export type { HttpExchange, NativeWebSocket, UpgradeExchange } from './http/exchange.js';
export type { EngineRequest } from './http/request.js';
export type { Session } from './session/session.js';
export { App, SSLApp } from './sockets.js';
export type { TemplatedApp } from './uws/app.js';
