/**
 * Rooms as topics of uWebSockets.js.
 *
 * It promises: a broadcast on this worker is published once for each room, and reaches exactly the sockets that are in
 * the rooms when the application sends it, in the order in which it sends. Any adapter of socket.io gains that, those
 * of other packages included.
 *
 *   native-rooms.ts        the methods that an adapter gains; a broadcast begins here
 *   topics.ts              which rooms are topics, and who has subscribed
 *   room-sets.ts           the adapter's `rooms` and `sids`, in a fraction of the memory
 *   encoded-packet.ts      a packet that is encoded once, for all workers and clients
 *   outgoing-listeners.ts  the application's `onAnyOutgoing`
 *   local-adapter.ts       the adapter of a server without other workers
 *   cluster-sockets.ts     counts and lists of sockets that do not wait for a worker that is stuck
 *   services.ts            services that run on all servers of a namespace, such as presence
 *   heartbeats.ts          other servers behind an adapter that does not tell of them, such as that of BUS=redis
 *
 * It may call the engine, and the private parts of socket.io in `compat`. It knows of no other worker.
 */
export {
  askServers,
  countSockets,
  fetchReachableSockets,
  type ReachableSockets,
  type SocketCount,
} from './cluster-sockets.js';
export { decodePackets, EncodedPacket, type EncodedPackets } from './encoded-packet.js';
export { hasOthers, LocalAdapter, overridesBase } from './local-adapter.js';
export {
  type AdapterClass,
  type AdapterFactory,
  hasNativeRooms,
  makeAdapter,
  type RoomsEngine,
  reportOtherEngine,
  withNativeRooms,
} from './native-rooms.js';
export { addToRooms, isMember, membersOf, sizeOf, useRoomSets } from './room-sets.js';
export {
  type AdapterWithServers,
  type Notice,
  type OpenService,
  type OtherServers,
  type OtherServersEvents,
  type ServiceChannel,
  serviceOf,
} from './services.js';
export { roomOfTopic, topicNameOf } from './topics.js';
