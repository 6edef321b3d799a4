import { GjallarError } from '../../base/errors.js';
import type { Clock } from '../clock.js';
import { Allowance, Allowances, type Rate } from './rates.js';

/**
 * Charges clients for the bytes that their requests make the worker read, copy and encode, beyond those that they send:
 * a short request can concern much that is stored. A client that owes something waits before its next such request.
 */
export class RequestCosts {
  private readonly byClient = new WeakMap<object, Allowance>();
  private readonly byName: Allowances | undefined;

  /** @param rate bytes of one client; undefined for no limit */
  constructor(
    private readonly rate: Rate | undefined,
    private readonly clock: Clock,
  ) {
    this.byName = rate && new Allowances(rate);
  }

  /** @param client its connection, or what names it among callers over HTTP */
  charge(client: object | string, bytes: number): void {
    const now = this.clock.now();
    this.of(client, now)?.owe(bytes, now);
  }

  /** How long the client has to wait until it owes nothing, in ms: at most the interval of the rate. */
  waitOf(client: object | string): number {
    const known = typeof client === 'string' ? this.byName?.get(client) : this.byClient.get(client);
    return known?.msToPay(this.clock.now()) ?? 0;
  }

  /**
   * Charges a client that gets its reply at once.
   * @throws GjallarError RATE_LIMITED if it still owes something
   */
  chargeAtOnce(client: object | string, bytes: number): void {
    if (this.waitOf(client) > 0) throw new GjallarError('RATE_LIMITED');
    this.charge(client, bytes);
  }

  private of(client: object | string, now: number): Allowance | undefined {
    const { rate } = this;
    if (!rate) return undefined;
    if (typeof client === 'string') return this.byName!.of(client, now);
    let allowance = this.byClient.get(client);
    if (!allowance) {
      allowance = new Allowance(rate, now);
      this.byClient.set(client, allowance);
    }
    return allowance;
  }
}
