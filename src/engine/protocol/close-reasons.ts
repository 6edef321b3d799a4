import type { ErrorCode } from '../../errors.js';

/**
 * Why a session ended; the first argument of its `close` event, and of a Socket.IO socket's `disconnect` event.
 * The reasons are those of engine.io, and two more for the limits.
 */
export type CloseReason =
  | 'transport close'
  | 'transport error'
  | 'ping timeout'
  | 'parse error'
  | 'forced close'
  /** More than `maxBackpressure` bytes waited for the client. */
  | 'slow client'
  /** The client kept sending more than `rateLimit` allows. */
  | 'rate limit';

/** The error in the close frame of a WebSocket that a limit closes. */
export const closeErrors: Partial<Record<CloseReason, ErrorCode>> = {
  'slow client': 'SLOW_CLIENT',
  'rate limit': 'RATE_LIMITED',
};
