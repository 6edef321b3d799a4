import { Outage } from '../../base/outage.js';
import { thisProcess } from '../../base/process.js';
import { Seldom } from '../../base/warnings.js';
import { within } from '../../base/within.js';
import {
  type Backplane,
  type BackplaneName,
  type BusHealth,
  backplaneKindOf,
  backplaneNameOf,
} from '../../cluster/backplanes/index.js';
import type { RunConfig } from '../config/options.js';
import { redisNamesOf } from '../config/redis-names.js';

/** How long a start waits for the backplane before it continues without it, in ms. */
const START_TIMEOUT_MS = 5000;

/** Resolves when the backplane is ready, or after a timeout, because local delivery works without it. */
export function readyInTime(bus: Pick<Backplane, 'ready'>): Promise<void> {
  return within(START_TIMEOUT_MS, bus.ready());
}

/** What an outage is to this worker. */
export interface OutageWords {
  /** What follows from it. */
  readonly effect: string;
  /** The line of the log when it is over. */
  readonly over: string;
  /** Further fields of its lines. */
  readonly fields?: object;
  /** Whether the log says, too, that it is up for the first time. */
  readonly saysFirst?: boolean;
}

/** Reports the outages of what connects this worker with others. */
export function reportOutages(health: BusHealth, { effect, over, fields, saysFirst = false }: OutageWords): void {
  const outage = new Outage({ over });
  let unsentBefore = 0;
  health.listen(() => {
    const { fault, unsent } = health;
    if (fault) {
      // Only the log has the words of the server, which may name users and channels.
      return outage.begin({ ...fault, text: `${fault.text}: ${effect}` }, { ...fields, reason: fault.cause });
    }
    const counted = { ...fields, unsent: unsent - unsentBefore };
    unsentBefore = unsent;
    if (outage.isInProgress) outage.end(counted);
    else if (saysFirst) thisProcess.reports.log.info(counted, over);
  });
}

/** What an outage of the server of a bus is to rooms. */
export function wordsOf(bus: BackplaneName): OutageWords {
  const [what, where] = backplaneKindOf(bus).isClassic
    ? ['rooms', 'workers and machines']
    : ['rooms and sessions', 'machines'];
  return { effect: `${what} do not span ${where}`, over: 'the backplane is up', fields: { bus }, saysFirst: true };
}

/** At most one log line about each bound of recovery in this time, in ms. */
const bounds = new Seldom(60_000);

/** Reports that a bound of connection state recovery has given a client a new session. */
export function reportBound(reason: string): void {
  const clients = bounds.due(reason);
  if (clients === undefined) return;
  thisProcess.reports.log.warn(
    { reason, clients },
    'clients got a new session: a bound of connection state recovery was reached',
  );
}

/** The prefix of the channels of workers and machines, on the server that the backplane depends on. */
export function channelPrefixOf(config: RunConfig): string {
  return backplaneKindOf(backplaneNameOf(config)).server === 'NATS' ? config.natsPrefix : redisNamesOf(config).channels;
}
