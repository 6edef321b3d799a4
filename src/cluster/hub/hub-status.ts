import type { Fault } from '../backplanes/bus-health.js';
import type { ConnectionHealth } from '../backplanes/connection-health.js';
import { hubHead, hubTypes } from '../backplanes/frames/hub/entries.js';
import { messageOf } from '../backplanes/frames/wire/message.js';

/** What the hub of a machine tells its workers of itself. */
export interface HubStatus {
  /** Whether Redis or NATS is up, with all subscriptions, and the other hubs have answered. */
  readonly isUp: boolean;
  /** Why it is down; undefined before the first connection, and while it is up. */
  readonly fault?: Fault | undefined;
  readonly unsent: number;
  readonly pendingBytes: number;
  readonly malformed: number;
  readonly lastMalformed: string;
  readonly gaps: number;
  readonly lastGap?: readonly [machine: string, reason: string] | undefined;
  /** Whether this worker counts for the machine, so that metrics of all workers add up. */
  readonly leads: boolean;
}

/** The workers of a machine, as they are told. */
interface StatusHost {
  workers(): Iterable<number>;
  tell(worker: number, entry: Buffer): void;
}

/** Tells the workers what the hub knows of its server. */
export class StatusBoard {
  private told = '';

  constructor(
    private readonly health: ConnectionHealth,
    private readonly host: StatusHost,
  ) {}

  /** Tells all workers, if something has changed, or if it is `due`. */
  tell(isDue = false): void {
    const { isUp, fault, unsent, pendingBytes, gaps, lastGap, inbox } = this.health;
    const { malformed, last: lastMalformed } = inbox;
    const status = { isUp, fault, unsent, pendingBytes, gaps, lastGap, malformed, lastMalformed };
    const text = JSON.stringify(status);
    if (text === this.told && !isDue) return;
    this.told = text;
    const workers = [...this.host.workers()];
    const leader = Math.min(...workers);
    for (const worker of workers) {
      const own = JSON.stringify({ ...status, leads: worker === leader } satisfies HubStatus);
      this.host.tell(worker, Buffer.concat([hubHead(0, 0), messageOf(hubTypes.status, Buffer.from(own))]));
    }
  }
}
