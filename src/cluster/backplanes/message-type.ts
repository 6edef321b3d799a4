import type { MessageType as Types } from 'socket.io-adapter';

export type MessageType = Types;

/**
 * The types of messages between socket.io's adapters; the compiler compares the numbers. Hubs and emitters, which have no
 * adapter, need not load the package for them.
 */
export const MessageType: typeof Types = {
  INITIAL_HEARTBEAT: 1,
  HEARTBEAT: 2,
  BROADCAST: 3,
  SOCKETS_JOIN: 4,
  SOCKETS_LEAVE: 5,
  DISCONNECT_SOCKETS: 6,
  FETCH_SOCKETS: 7,
  FETCH_SOCKETS_RESPONSE: 8,
  SERVER_SIDE_EMIT: 9,
  SERVER_SIDE_EMIT_RESPONSE: 10,
  BROADCAST_CLIENT_COUNT: 11,
  BROADCAST_ACK: 12,
  ADAPTER_CLOSE: 13,
};
