import type { Reason } from '../../base/problems.js';

/** Why the server is down. What follows from it, its listeners add. */
export interface Fault extends Reason {
  /** In the words of the server, which may name users and channels: for the log alone. */
  readonly cause: string;
}

/** The counts of a backplane. */
export interface BackplaneTraffic {
  /** Whether this worker can reach the others. */
  readonly isUp: boolean;
  /** Messages dropped since the start because the bus was down or too slow. */
  readonly unsent: number;
  /** Outages of the backplane since the start. */
  readonly outages: number;
  /** Bytes sent to the bus that it has not confirmed; bounded. */
  readonly pendingBytes: number;
  /** Messages from the backplane dropped since the start because they were malformed. */
  readonly malformed: number;
  /** How often since the start frames of or to another worker were lost, or numbers did not continue; undefined without frames. */
  readonly gaps?: number;
}

/**
 * Whether the server that a backplane depends on is up, and if not, why: as the connection to it knows, or as the hub of the machine
 * tells. Before the first connection, it is neither up nor faulty.
 */
export abstract class BusHealth implements BackplaneTraffic {
  isUp = false;
  outages = 0;
  /** Undefined while it is up. */
  fault: Fault | undefined;
  abstract readonly unsent: number;
  abstract readonly pendingBytes: number;
  abstract readonly malformed: number;
  abstract readonly gaps: number;
  private readonly listeners: (() => void)[] = [];
  private waiting: (() => void)[] = [];

  /** Calls back when it is up for the first time or again, when it is down, and when it is down for another reason. */
  listen(listener: () => void): void {
    this.listeners.push(listener);
    if (this.isUp || this.fault) listener();
  }

  whenUp(): Promise<void> {
    return this.isUp ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve));
  }

  protected up(): void {
    if (this.isUp) return;
    this.isUp = true;
    this.fault = undefined;
    for (const resolve of this.waiting.splice(0)) resolve();
    this.tell();
  }

  protected down(fault: Fault): void {
    if (fault.text === this.fault?.text) return;
    if (!this.fault) this.outages++;
    this.isUp = false;
    this.fault = fault;
    this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}
