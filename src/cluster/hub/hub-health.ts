import { MalformedMessage } from '../../base/errors.js';
import { thisProcess } from '../../base/process.js';
import { Seldom } from '../../base/warnings.js';
import { BusHealth, type Fault } from '../backplanes/bus-health.js';
import { type ConnectionHealth, Inbox } from '../backplanes/connection-health.js';

/** What the hub of a machine tells its workers of its server. */
interface HubStatus {
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
}

/** What a hub knows of its server, as JSON. */
export function statusOf({ isUp, fault, unsent, pendingBytes, gaps, lastGap, inbox }: ConnectionHealth): string {
  const { malformed, last: lastMalformed } = inbox;
  const status: HubStatus = { isUp, fault, unsent, pendingBytes, gaps, lastGap, malformed, lastMalformed };
  return JSON.stringify(status);
}

const NOTHING: HubStatus = { isUp: false, unsent: 0, pendingBytes: 0, malformed: 0, lastMalformed: '', gaps: 0 };

/** At most one log line about lost frames in this time, in ms. */
const gapLines = new Seldom(60_000);

/**
 * What a worker knows of its hub: whether other machines can be reached, and what was lost. One worker counts and reports for the
 * machine, so that the figures of all workers add up.
 */
export class HubHealth extends BusHealth {
  unsent = 0;
  gaps = 0;
  /** What arrives at this worker passes here. */
  readonly inbox = new Inbox();
  private malformedAtHub = 0;
  /** What the hub has told last; undefined before the first time. */
  private status: HubStatus | undefined;

  /** @param leads whether this worker counts for the machine at present */
  constructor(private readonly leads: () => boolean) {
    super();
  }

  get pendingBytes(): number {
    return this.leads() ? (this.status?.pendingBytes ?? 0) : 0;
  }

  get malformed(): number {
    return this.inbox.malformed + this.malformedAtHub;
  }

  /** Messages stay here, because the hub is not there. */
  lose(messages: number): void {
    if (!this.isUp) this.unsent += messages;
  }

  /** @throws MalformedMessage */
  update(bytes: Buffer): void {
    const status = read(bytes);
    // What was before this worker, others have counted.
    const before = this.status ?? status;
    this.status = status;
    if (this.leads()) {
      this.unsent += status.unsent - before.unsent;
      this.gaps += status.gaps - before.gaps;
      this.malformedAtHub += status.malformed - before.malformed;
      report(before, status);
    }
    if (status.isUp) this.up();
    else if (status.fault) this.down(status.fault);
  }

  /** The hub is gone. The next one counts from 0. */
  gone(): void {
    if (!this.status) return;
    this.status = NOTHING;
    const text = 'the hub of this machine has ended, and is replaced';
    this.down({ code: 'HUB_ENDED', text, since: Date.now(), cause: 'its link was closed' });
  }
}

function read(bytes: Buffer): HubStatus {
  try {
    return JSON.parse(bytes.toString()) as HubStatus;
  } catch {
    throw new MalformedMessage('the state of the hub is no JSON');
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
