import type { CloseReason } from './protocol/close-reasons.js';

/** What the sessions of one engine count, since its start: plain numbers, for whoever wants to read them. */
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
  };
  /** Messages that came from clients. */
  received = 0;
  /** Messages that came from clients who had sent more than they may already (`rateLimit`). */
  overLimit = 0;
  /** Who was not let in: plain WebSockets too. */
  readonly refused = { TOO_MANY_CONNECTIONS: 0, RATE_LIMITED: 0, ORIGIN_FORBIDDEN: 0, OVERLOADED: 0 };
  /** Messages to one client each; what goes to all subscribers of a topic is the outbox's. */
  sent = 0;
}
