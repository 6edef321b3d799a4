import type { Clock } from '../clock.js';
import { HeldBytes } from './held-bytes.js';

/** A client for which output may wait, or whose input waits. */
export interface Buffering {
  /** The number of bytes that wait. */
  readonly bufferedAmount: number;
  onOverflow(): void;
}

/** How often clients are measured, in ms. */
const TURN_MS = 50;
/** How long no client is measured after little has waited for all of them, in ms. */
const REST_MS = 250;
/** The share of the budget that is little. */
const LITTLE = 1 / 8;
/** How many clients are measured in one turn. */
const CLIENTS_IN_A_TURN = 2000;
/** A client with fewer waiting bytes of output than this is not closed. */
const SMALL = 65_536;

/**
 * Bounds the bytes that wait for and from all clients of a process together. A bound per client would let a thousand
 * clients take a thousand times as much. When the budget is exceeded, the clients with the most waiting bytes are closed
 * until half of the budget is free.
 *
 * Output to WebSockets is measured in turns, because uWebSockets.js holds most of it, and again after much was sent.
 * Input and responses are counted as they begin to wait.
 */
export class BufferBudget {
  /** Clients that were closed because of their output. */
  closed = 0;
  /** Incomplete packets, bodies and queues of messages that were dropped. */
  closedIncoming = 0;
  /** Called after clients were closed, with their number and the bytes that waited before. */
  onFreed: ((clients: number, bytes: number) => void) | undefined;
  /** The bytes that came in and wait. */
  readonly incoming = new HeldBytes();
  /** The bytes of responses that wait for their clients. */
  readonly outgoing = new HeldBytes();
  /** Bytes that waited for all WebSockets and sessions when they were last measured. */
  private measured = 0;
  /** Bytes that were sent since then. */
  private sentSince = 0;
  private timer: unknown;
  private pass: Iterator<Buffering> | undefined;
  private sum = 0;
  private large: Buffering[] = [];
  private isFreeing = false;
  private pauseMs = TURN_MS;
  private measuredAt = Number.NEGATIVE_INFINITY;

  /**
   * @param max the budget for output and input in bytes; 0 is no limit
   * @param clients all clients for which output may wait
   * @param maxIncoming the budget for input alone; 0 is no limit
   */
  constructor(
    private readonly max: number,
    private readonly clients: () => Iterable<Buffering>,
    private readonly clock: Clock,
    private readonly maxIncoming = max,
  ) {
    this.incoming.onGrowth = () => this.check();
    this.outgoing.onGrowth = () => this.check();
  }

  /** Bytes of output that wait for all clients, as far as they are known. */
  get buffered(): number {
    return this.measured + this.outgoing.total;
  }

  /** Bytes are about to be sent to clients, which may not read them. */
  sending(bytes: number): void {
    this.sentSince += bytes;
    if (this.max > 0 && this.sentSince > this.max * LITTLE) this.measureNow();
  }

  start(): void {
    if (this.max === 0 || this.timer !== undefined) return;
    this.timer = this.clock.setTimeout(this.look, this.pauseMs);
    (this.timer as { unref?(): void }).unref?.();
  }

  close(): void {
    this.clock.clearTimeout(this.timer);
    this.timer = undefined;
  }

  private readonly look = (): void => {
    this.pauseMs = TURN_MS;
    this.measure(CLIENTS_IN_A_TURN);
    this.timer = undefined;
    this.start();
  };

  /** Measures the next clients, and closes some after the last one if necessary. */
  private measure(count: number): void {
    this.pass ??= this.clients()[Symbol.iterator]();
    for (let seen = 0; seen < count; seen++) {
      const { value, done } = this.pass.next();
      if (done) return this.finish();
      const bytes = value.bufferedAmount;
      this.sum += bytes;
      if (bytes >= SMALL) this.large.push(value);
    }
  }

  private finish(): void {
    const { sum, large, max } = this;
    this.measured = sum;
    this.sentSince = 0;
    this.pass = undefined;
    this.sum = 0;
    this.large = [];
    const all = this.buffered + this.incoming.total;
    // Each client costs a call into uWebSockets.js. Mostly, nothing waits for any of them.
    if (all <= max * LITTLE) this.pauseMs = REST_MS;
    if (max > 0 && all > max) this.free(all - max / 2, [...large, ...this.outgoing.holders, ...this.incoming.holders]);
  }

  /** Called when more bytes wait. */
  private check(): void {
    const { incoming, max, maxIncoming } = this;
    if (this.isFreeing) return;
    if (maxIncoming > 0 && incoming.total > maxIncoming) {
      this.free(incoming.total - maxIncoming / 2, [...incoming.holders]);
    } else if (max > 0 && this.buffered + incoming.total > max) {
      this.measureNow();
    }
  }

  /** Measures all clients, unless that has just been done: small output is never dropped, and could alone exceed the budget. */
  private measureNow(): void {
    const now = this.clock.now();
    if (now - this.measuredAt < TURN_MS) return;
    this.measuredAt = now;
    this.pass = undefined;
    this.sum = 0;
    this.large = [];
    this.measure(Number.POSITIVE_INFINITY);
  }

  private free(bytes: number, candidates: Buffering[]): void {
    const byAmount = candidates
      .map((client) => ({ client, amount: client.bufferedAmount }))
      .sort((one, other) => other.amount - one.amount);
    const waiting = this.buffered + this.incoming.total;
    let left = bytes;
    let freed = 0;
    this.isFreeing = true;
    try {
      for (const { client, amount } of byAmount) {
        if (left <= 0) break;
        left -= amount;
        freed++;
        if (this.incoming.holders.has(client as never)) this.closedIncoming++;
        else this.closed++;
        client.onOverflow();
      }
    } finally {
      this.isFreeing = false;
    }
    if (freed > 0) this.onFreed?.(freed, waiting);
  }
}
