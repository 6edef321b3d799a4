import type { Clock } from '../clock.js';

/** How many requests of one address are handled in one turn of the event loop. */
const MAX_REQUESTS = 1000;
/** How long requests are handled in one turn, in ms. */
const MAX_TURN_MS = 200;
/** After this number of requests in one turn, the guard measures them. */
const WATCHED_FROM = 32;
/** How long postponed requests are handled in one turn, in ms. */
const PASS_MS = 50;

/** A request that can wait for a later turn. */
export interface Postponable {
  readonly finished: boolean;
  /** Called if the connection is closed before the response. */
  onAborted: (() => void) | undefined;
  /** Identifies the connection, if the server reads on before the response. */
  readonly connection?: object | undefined;
  destroy(): void;
}

interface Postponed {
  readonly exchange: Postponable;
  readonly handle: () => void;
  /** Whether it has arrived in this turn. */
  isNew: boolean;
}

/**
 * Keeps requests from occupying a worker. All requests of one read, and of all connections that are ready, are handled
 * before anything else runs. Beyond the limits of one turn, requests wait for a later one. A crowd of clients is thus
 * served a little later. Its requests are read at once, because uWebSockets.js closes connections without a request after
 * 10 s. It also closes each connection that sends a request before the response to the last one. A connection that has
 * pipelined more requests than the limit therefore ends.
 */
export class RequestGuard {
  /** Connections that were closed because they had sent further requests. */
  floods = 0;
  private address = '';
  /** Requests of this address in a row, and of all addresses, since the last observed turn. */
  private requests = 0;
  private requestsInAll = 0;
  private spent = 0;
  private startedAt = 0;
  private isPlanned = false;
  private readonly postponed = new Set<Postponed>();
  /** Those that the server does not close by itself. */
  private readonly connections = new WeakMap<object, 'waiting' | 'closed'>();

  constructor(private readonly clock: Clock) {}

  /** Call this before a request is handled. If it returns false, postpone the request. */
  enter(address: string): boolean {
    if (address !== this.address) {
      this.address = address;
      this.requests = 0;
    }
    this.requests++;
    this.requestsInAll++;
    if (this.requestsInAll < WATCHED_FROM) return true;
    this.plan();
    if (this.requests > MAX_REQUESTS || this.spent > MAX_TURN_MS) return false;
    this.startedAt = this.clock.now();
    return true;
  }

  /** Call this when the handler of the request has returned. */
  leave(): void {
    if (this.requestsInAll >= WATCHED_FROM) this.spent += this.clock.now() - this.startedAt;
  }

  /**
   * Handles a request in one of the next turns.
   * @param onFlood called if its connection was closed because it had sent further requests
   */
  postpone(exchange: Postponable, handle: () => void, onFlood: () => void): void {
    const { connection } = exchange;
    const flood = () => this.flood(onFlood);
    const known = connection && this.connections.get(connection);
    if (known) {
      if (known === 'waiting') flood();
      this.connections.set(connection, 'closed');
      return exchange.destroy();
    }
    if (connection) this.connections.set(connection, 'waiting');
    const entry: Postponed = { exchange, handle, isNew: true };
    exchange.onAborted = () => {
      this.postponed.delete(entry);
      // A client that disconnects in a later turn has not pipelined.
      if (entry.isNew && !connection) flood();
    };
    this.postponed.add(entry);
    this.plan();
  }

  /** A connection was closed because it had sent further requests. */
  flood(onFlood: () => void): void {
    this.floods++;
    onFlood();
  }

  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.clock.setImmediate(this.onTurn);
  }

  private readonly onTurn = (): void => {
    this.isPlanned = false;
    this.requests = 0;
    this.requestsInAll = 0;
    this.spent = 0;
    if (this.postponed.size === 0) return;
    for (const entry of this.postponed) entry.isNew = false;
    const end = this.clock.now() + PASS_MS;
    try {
      for (const entry of this.postponed) {
        this.handle(entry);
        if (this.clock.now() >= end) break;
      }
    } finally {
      if (this.postponed.size > 0) this.plan();
    }
  };

  private handle(entry: Postponed): void {
    const { exchange, handle } = entry;
    this.postponed.delete(entry);
    if (exchange.connection) this.connections.delete(exchange.connection);
    exchange.onAborted = undefined;
    if (!exchange.finished) handle();
  }
}
