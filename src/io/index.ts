/**
 * Socket.IO in one process: stock socket.io on the engine.
 *
 * It promises: the API is socket.io's own, and a broadcast is published once for each room.
 *
 *   server/         the drop-in `Server`, `gjallar/register`, and the application's http.Server beside it
 *   rooms/          rooms as topics; what any adapter of socket.io gains from it
 *   plain/          WebSockets without Socket.IO, beside a server
 *   http/           static files, CORS, JSON, the client's bundle
 *   *.private.ts    the private parts of socket.io that this rests on, with the versions they were checked against
 *
 * Begin with server/wiring.ts for the server, and rooms/native-rooms.ts for a broadcast. It knows of no other worker.
 */
export { type AdapterFactory, EncodedPacket, LocalAdapter, withNativeRooms } from './rooms/index.js';
export { defaultBus } from './server/default-adapter.js';
export { Server } from './server/server.js';
export { Wiring } from './server/wiring.js';
