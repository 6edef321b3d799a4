import type { ErrorCode } from '../base/errors.js';

/** The counts of one engine's sessions since its start. */
export class EngineCounters {
  opened = 0;
  readonly closed: Record<CloseReason, number> = {
    'transport close': 0,
    'transport error': 0,
    'ping timeout': 0,
    'parse error': 0,
    'forced close': 0,
    moved: 0,
    'slow client': 0,
    'rate limit': 0,
    'packet too large': 0,
    'incomplete packet': 0,
    'too many rooms': 0,
  };
  /** Messages received from clients. */
  received = 0;
  /** Messages from clients beyond their `rateLimit`. */
  overLimit = 0;
  /** Rejected clients, including plain WebSockets. */
  readonly refused = { TOO_MANY_CONNECTIONS: 0, RATE_LIMITED: 0, ORIGIN_FORBIDDEN: 0, OVERLOADED: 0 };
  /** Messages sent to single clients. */
  sent = 0;
  /** Messages that this worker has sent to rooms. */
  broadcasts = 0;
  /** Calls that named more than `maxRoomsPerCall` rooms. */
  tooManyRooms = 0;
}

/**
 * Why a session ended; the first argument of its `close` event, and of a Socket.IO socket's `disconnect` event.
 * The reasons are those of engine.io, one for a reload, and five for the limits.
 */
export type CloseReason =
  | 'transport close'
  | 'transport error'
  | 'ping timeout'
  | 'parse error'
  | 'forced close'
  /** The client goes on on another worker, which replaces this one. */
  | 'moved'
  /** More than `maxBackpressure` bytes waited for the client. */
  | 'slow client'
  /** The client sent twice what `rateLimit` allows, or more messages than the server can hold. */
  | 'rate limit'
  /** A packet was larger than `maxPacketSize` or `maxAuthSize`, or had more attachments than `maxAttachments`. */
  | 'packet too large'
  /** The attachments of a packet did not arrive in time, or the process needed the memory of those that had. */
  | 'incomplete packet'
  /** A socket of the client was about to be in more than `maxRoomsPerSocket` rooms, or of longer names than `maxRoomBytesPerSocket`. */
  | 'too many rooms';

/** The error in the close frame of a WebSocket that a limit closes. */
export const closeErrors: Partial<Record<CloseReason, ErrorCode>> = {
  'slow client': 'SLOW_CLIENT',
  'rate limit': 'RATE_LIMITED',
  'packet too large': 'PACKET_TOO_LARGE',
  'incomplete packet': 'PACKET_INCOMPLETE',
  'too many rooms': 'TOO_MANY_ROOMS',
};
