import type { Clock } from '../clock.js';

/** How many requests of one address are handled in one turn of the event loop. */
const MAX_REQUESTS = 1000;
/** How long the requests of one address are handled in one turn, in ms. */
const MAX_TURN_MS = 200;
/** After this number of requests in a row, the guard measures them. */
const WATCHED_FROM = 32;

/**
 * Keeps pipelined requests from occupying a worker. uWebSockets.js handles all requests of one read before anything
 * else runs. If an address exceeds the limit in one turn, its connection is closed, which ends the read.
 */
export class RequestGuard {
  /** Requests whose connection was closed. */
  floods = 0;
  private address = '';
  private requests = 0;
  private spent = 0;
  private startedAt = 0;
  private isPlanned = false;

  constructor(private readonly clock: Clock) {}

  /** Call this before a request is handled. Returns false if its connection must be closed. */
  enter(address: string): boolean {
    if (address !== this.address) {
      this.address = address;
      this.requests = 0;
      this.spent = 0;
    }
    this.requests++;
    if (this.requests < WATCHED_FROM) return true;
    this.plan();
    if (this.requests > MAX_REQUESTS || this.spent > MAX_TURN_MS) {
      this.floods++;
      return false;
    }
    this.startedAt = this.clock.now();
    return true;
  }

  /** Call this when the handler of the request has returned. */
  leave(): void {
    if (this.requests >= WATCHED_FROM) this.spent += this.clock.now() - this.startedAt;
  }

  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.clock.setImmediate(() => {
      this.isPlanned = false;
      this.address = '';
      this.requests = 0;
    });
  }
}
