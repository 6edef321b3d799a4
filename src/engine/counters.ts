import type { CloseReason } from './protocol/close-reasons.js';

/** The counts of one engine's sessions since its start. */
export class EngineCounters {
  opened = 0;
  readonly closed: Record<CloseReason, number> = {
    'transport close': 0,
    'transport error': 0,
    'ping timeout': 0,
    'parse error': 0,
    'forced close': 0,
    'slow client': 0,
    'rate limit': 0,
    'packet too large': 0,
    'incomplete packet': 0,
  };
  /** Messages received from clients. */
  received = 0;
  /** Messages from clients beyond their `rateLimit`. */
  overLimit = 0;
  /** Rejected clients, including plain WebSockets. */
  readonly refused = { TOO_MANY_CONNECTIONS: 0, RATE_LIMITED: 0, ORIGIN_FORBIDDEN: 0, OVERLOADED: 0 };
  /** Messages sent to single clients. The outbox counts messages to topics. */
  sent = 0;
}
