/**
 * WebSockets without Socket.IO, beside a server of gjallar: for clients that have no client library.
 *
 *   plain-websockets.ts   those of an engine: who is admitted, texts to rooms, pings, drain
 *   plain-socket.ts       one of them, with its limits
 */
export type { DrainReason, OtherClients } from '../../engine/other-clients.js';
export { type PlainClient, type PlainMember, PlainSocket } from './plain-socket.js';
export { type PlainOptions, type PlainRoute, PlainWebSockets } from './plain-websockets.js';
