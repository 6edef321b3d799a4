import type { Clock } from '../clock.js';

/** How many requests of one address are handled in one turn of the event loop. */
const MAX_REQUESTS = 1000;
/** How long the requests of one address are handled in one turn, in ms. */
const MAX_TURN_MS = 200;
/** Requests in a row from which on it is watched whether the event loop still turns. */
const WATCHED_FROM = 32;

/**
 * Keeps pipelined requests from occupying a worker: uWebSockets.js handles all that one read has brought before anything
 * else runs. An address that asks for more than this in one turn has the connection cut off, which ends the read.
 */
export class RequestGuard {
  /** Requests whose connection was cut off. */
  floods = 0;
  private address = '';
  private requests = 0;
  private spent = 0;
  private startedAt = 0;
  private isPlanned = false;

  constructor(private readonly clock: Clock) {}

  /** A request begins to be handled. Returns false where its connection is to be cut off. */
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

  /** The request is handled, as far as that is possible at once. */
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
