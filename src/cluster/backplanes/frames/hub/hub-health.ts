import { thisProcess } from '../../../../base/process.js';
import type { BackplaneEvents, BackplaneTraffic } from '../../backplane.js';

/** What the hub of a machine tells its workers of itself. */
export interface HubStatus {
  /** Whether Redis or NATS is up, with all subscriptions, and the other hubs have answered. */
  readonly isUp: boolean;
  /** Why it is down; undefined before the first connection, and while it is up. */
  readonly down?: { readonly reason: string; readonly rejected?: string | undefined } | undefined;
  /** Counts the calls of `onDown`: another cause is reported once more. */
  readonly told: number;
  readonly unsent: number;
  readonly pendingBytes: number;
  readonly malformed: number;
  /** What was malformed, of a hub that cannot report it itself. */
  readonly lastMalformed?: string | undefined;
  readonly gaps: number;
  readonly lastGap?: readonly [machine: string, reason: string] | undefined;
  /** Whether this worker counts for the machine, so that metrics of all workers add up. */
  readonly leads: boolean;
}

export const HUB_GONE = 'the hub of this machine has ended, and is replaced';

const UNKNOWN: HubStatus = {
  ...{ isUp: false, told: 0, unsent: 0, pendingBytes: 0, malformed: 0, gaps: 0, leads: false },
};

/** What a worker knows of its hub: whether other machines can be reached, and what was lost. */
export class HubHealth implements BackplaneTraffic {
  outages = 0;
  private status = UNKNOWN;
  /** Whether the last call was `onUp`; undefined before the first one. */
  private isUpTold: boolean | undefined;
  private told = 0;
  private unsentBefore = 0;
  /** Messages that the worker could not hand to the hub. */
  private lost = 0;
  private readonly events: BackplaneEvents[] = [];
  private waiting: (() => void)[] = [];

  get isUp(): boolean {
    return this.status.isUp;
  }

  get unsent(): number {
    return this.lost + this.counted('unsent');
  }

  get pendingBytes(): number {
    return this.counted('pendingBytes');
  }

  get malformed(): number {
    return this.counted('malformed');
  }

  get gaps(): number {
    return this.counted('gaps');
  }

  /** Reports to these events from now on. */
  report(events: BackplaneEvents): void {
    this.events.push(events);
    const { down } = this.status;
    if (this.isUpTold === true) events.onUp(0);
    else if (this.isUpTold === false) events.onDown(down?.reason ?? HUB_GONE, down?.rejected);
  }

  whenUp(): Promise<void> {
    return this.isUp ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Messages stay here, because the hub is not there. */
  lose(messages: number): void {
    if (!this.isUp) this.lost += messages;
  }

  update(status: HubStatus): void {
    const before = this.status;
    this.status = status;
    if (status.leads) this.reportCounts(before, status);
    if (status.isUp) this.tellUp();
    else if (status.down && (this.isUpTold !== false || status.told !== this.told)) {
      const { reason, rejected } = status.down;
      this.tellDown(reason, rejected);
    }
    this.told = status.told;
  }

  /** The hub is gone. */
  gone(): void {
    if (this.status === UNKNOWN) return;
    // The next one counts from 0.
    const { leads, unsent } = this.status;
    if (leads) this.lost += unsent;
    else this.unsentBefore -= unsent;
    this.status = UNKNOWN;
    this.tellDown(HUB_GONE);
  }

  private reportCounts(before: HubStatus, { malformed, lastMalformed, gaps, lastGap }: HubStatus): void {
    for (let count = before.malformed; lastMalformed !== undefined && count < malformed; count++) {
      thisProcess.reports.malformed('bus', lastMalformed);
    }
    if (gaps > before.gaps && lastGap) this.each((to) => to.onGap?.(...lastGap));
  }

  private tellUp(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
    if (this.isUpTold === true) return;
    this.isUpTold = true;
    const all = this.lost + this.status.unsent;
    const unsent = all - this.unsentBefore;
    this.unsentBefore = all;
    this.each((to) => to.onUp(unsent));
  }

  private tellDown(reason: string, rejected?: string): void {
    if (this.isUpTold !== false) this.outages++;
    this.isUpTold = false;
    this.each((to) => to.onDown(reason, rejected));
  }

  private each(tell: (events: BackplaneEvents) => void): void {
    for (const events of this.events) tell(events);
  }

  private counted(name: 'unsent' | 'pendingBytes' | 'malformed' | 'gaps'): number {
    return this.status.leads ? this.status[name] : 0;
  }
}
