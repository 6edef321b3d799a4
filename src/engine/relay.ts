import type { HttpExchange, UpgradeExchange } from './http/exchange.js';

/** Passes requests on to the worker with their session. Returns false if no worker has the session. */
export interface SessionRelay {
  request(sid: string, exchange: HttpExchange): boolean;
  upgrade(sid: string, exchange: UpgradeExchange): boolean;
  /** Whether there is another worker that a session could move to. */
  readonly hasOthers: boolean;
  /** A session of this worker is on a WebSocket or has ended, so no more requests for it are expected. */
  noMoreRequests(sid: string): void;
}
