import type { WorkerLinks } from '../../worker-links.js';
import type { Clock } from '../clock.js';
import { addressKey } from './client-address.js';
import { Allowances, type Rate } from './rates.js';
import { SharedCounts } from './shared-counts.js';

/**
 * Limits the clients that one address may have at the same time, and its rate of new ones. If several workers share a
 * port, each learns of the others' clients a moment later.
 */
export class AddressLimits {
  private readonly counts: SharedCounts;
  private readonly rates: Allowances | undefined;
  private readonly entered = new Map<object, string>();
  /** Requests on this worker that wait for their responses, by address. */
  private readonly requests = new Map<string, number>();

  private constructor(
    private readonly maxClients: number,
    rate: Rate | undefined,
    private readonly clock: Clock,
  ) {
    this.rates = rate && new Allowances(rate);
    this.counts = new SharedCounts(clock, (key, consumed) => this.consume(key, consumed));
  }

  /** @param maxClients maximum number of clients of one address; 0 is no limit */
  static of(maxClients: number, rate: Rate | undefined, clock: Clock): AddressLimits | undefined {
    return maxClients > 0 || rate ? new AddressLimits(maxClients, rate, clock) : undefined;
  }

  /** Shares the counts with the other workers. */
  share(links: WorkerLinks): void {
    this.counts.join(links);
  }

  /** Checks a new client before its handshake. Returns the limit that rejects it. */
  checkConnectionRate(address: string): 'RATE_LIMITED' | 'TOO_MANY_CONNECTIONS' | undefined {
    const key = addressKey(address);
    if (this.isFull(key)) return 'TOO_MANY_CONNECTIONS';
    if (!this.rates) return undefined;
    // A rejected attempt costs nothing, so a client that keeps trying connects as often as the limit allows.
    const allowance = this.rates.get(key);
    if (allowance && !allowance.has(1, this.clock.now())) return 'RATE_LIMITED';
    this.consume(key, 1);
    this.counts.reportConsumed(key);
    return undefined;
  }

  /** Counts a new client. Returns false if its address has reached the limit meanwhile. */
  enter(client: object, address: string): boolean {
    if (this.maxClients === 0) return true;
    const key = addressKey(address);
    if (this.isFull(key)) return false;
    this.add(client, key);
    return true;
  }

  /** Counts a client that another worker has handed over. */
  adopt(client: object, address: string): void {
    if (this.maxClients > 0) this.add(client, addressKey(address));
  }

  /** Counts a request that waits for its response. Returns false if too many requests of its address are waiting. */
  enterRequest(exchange: { onComplete?: (() => void) | undefined }, address: string): boolean {
    if (this.maxClients === 0) return true;
    const key = addressKey(address);
    const waiting = (this.requests.get(key) ?? 0) + 1;
    if (waiting > this.maxClients) return false;
    this.requests.set(key, waiting);
    exchange.onComplete = () => {
      const left = this.requests.get(key)! - 1;
      if (left > 0) this.requests.set(key, left);
      else this.requests.delete(key);
    };
    return true;
  }

  leave(client: object): void {
    const key = this.entered.get(client);
    if (key === undefined) return;
    this.entered.delete(client);
    this.counts.add(key, -1);
  }

  close(): void {
    this.counts.close();
  }

  private add(client: object, key: string): void {
    this.entered.set(client, key);
    this.counts.add(key, 1);
  }

  private isFull(key: string): boolean {
    return this.maxClients > 0 && this.counts.of(key) >= this.maxClients;
  }

  private consume(key: string, cost: number): void {
    const now = this.clock.now();
    this.rates?.of(key, now).consume(cost, now);
  }
}
