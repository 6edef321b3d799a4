import type { Reason } from '../../base/problems.js';

/** Why the server is down. What follows from it, its listeners add. */
export interface Fault extends Reason {
  /** In the words of the server, which may name users and channels: for the log alone. */
  readonly cause: string;
}

/**
 * Whether the server that a backplane depends on is up, and if not, why: as the connection to it knows, or as the hub of the machine
 * tells. Before the first connection, it is neither up nor faulty.
 */
export abstract class BusHealth {
  /** Whether this worker can reach the others. */
  isUp = false;
  /** Outages since the start. */
  outages = 0;
  /** Undefined while it is up. */
  fault: Fault | undefined;
  /** Messages dropped since the start because the bus was down or too slow. */
  abstract readonly unsent: number;
  /** Bytes sent to the bus that it has not confirmed; bounded. */
  abstract readonly pendingBytes: number;
  /** Messages from the bus dropped since the start because they were malformed. */
  abstract readonly malformed: number;
  /** How often since the start frames of or to another worker were lost, or numbers did not continue. */
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
