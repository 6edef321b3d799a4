import type { ErrorCode } from '../../errors.js';

/**
 * Why a session ended; the first argument of its `close` event, and of a Socket.IO socket's `disconnect` event.
 * The reasons are engine.io's, and those of the limits here.
 */
export type CloseReason =
  | 'transport close'
  | 'transport error'
  | 'ping timeout'
  | 'parse error'
  | 'forced close'
  /** More than `maxBackpressure` bytes waited for the client. */
  | 'slow client'
  /** The client went on sending more than `rateLimit` allows. */
  | 'rate limit';

/** What the client is told in the close frame of its WebSocket, where it is closed for a limit. */
export const closeErrors: Partial<Record<CloseReason, ErrorCode>> = {
  'slow client': 'SLOW_CLIENT',
  'rate limit': 'RATE_LIMITED',
};
