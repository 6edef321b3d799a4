import { thisProcess } from '../../../../base/process.js';
import { Seldom } from '../../../../base/warnings.js';
import type { HubStatus } from '../../../hub/hub-status.js';
import { BusHealth } from '../../bus-health.js';
import { Inbox } from '../../connection-health.js';

const UNKNOWN: HubStatus = {
  ...{ isUp: false, unsent: 0, pendingBytes: 0, malformed: 0, lastMalformed: '', gaps: 0, leads: false },
};

/** At most one log line about lost frames in this time, in ms. */
const gapLines = new Seldom(60_000);

/** What a worker knows of its hub: whether other machines can be reached, and what was lost. */
export class HubHealth extends BusHealth {
  /** What arrives at this worker passes here. */
  readonly inbox = new Inbox();
  private status = UNKNOWN;
  /** Messages that the worker could not hand to the hub, and those that former hubs could not send. */
  private lost = 0;

  get unsent(): number {
    return this.lost + this.counted('unsent');
  }

  get pendingBytes(): number {
    return this.counted('pendingBytes');
  }

  get malformed(): number {
    return this.inbox.malformed + this.counted('malformed');
  }

  get gaps(): number {
    return this.counted('gaps');
  }

  /** Messages stay here, because the hub is not there. */
  lose(messages: number): void {
    if (!this.isUp) this.lost += messages;
  }

  update(status: HubStatus): void {
    const before = this.status;
    this.status = status;
    if (status.leads) report(before, status);
    if (status.isUp) this.up();
    else if (status.fault) this.down(status.fault);
  }

  /** The hub is gone. */
  gone(): void {
    if (this.status === UNKNOWN) return;
    // The next one counts from 0.
    this.lost += this.counted('unsent');
    this.status = UNKNOWN;
    const text = 'the hub of this machine has ended, and is replaced';
    this.down({ code: 'HUB_ENDED', text, since: Date.now(), cause: 'its link was closed' });
  }

  private counted(name: 'unsent' | 'pendingBytes' | 'malformed' | 'gaps'): number {
    return this.status.leads ? this.status[name] : 0;
  }
}

/** Reports what the hub has noticed since it told `before`. */
function report(before: HubStatus, { malformed, lastMalformed, gaps, lastGap }: HubStatus): void {
  const { reports } = thisProcess;
  for (let count = before.malformed; count < malformed; count++) reports.malformed('bus', lastMalformed);
  if (gaps <= before.gaps || !lastGap) return;
  const [from, reason] = lastGap;
  const count = gapLines.due('', gaps - before.gaps);
  if (count === undefined) return;
  reports.log.warn({ from, reason, count }, 'frames of other workers were lost: messages may be missing');
}
