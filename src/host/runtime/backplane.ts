import { Outage } from '../../base/outage.js';
import type { Reason } from '../../base/problems.js';
import { thisProcess } from '../../base/process.js';
import { Seldom } from '../../base/warnings.js';
import { within } from '../../base/within.js';
import type { WorkerLinks } from '../../base/worker-links.js';
import { brokerCause } from '../../cluster/backplanes/broker-cause.js';
import { HUB_GONE } from '../../cluster/backplanes/frames/hub/hub-health.js';
import {
  type Backplane,
  type BackplaneEvents,
  type BackplaneName,
  backplaneKindOf,
  backplaneNameOf,
} from '../../cluster/backplanes/index.js';
import { type Kind, kinds, type MeshLinks } from '../../cluster/mesh/mesh.js';
import type { RunConfig } from '../config/options.js';
import { redisNamesOf } from '../config/redis-names.js';

/** How long a start waits for the backplane before it continues without it, in ms. */
const START_TIMEOUT_MS = 5000;

/** Resolves when the backplane is ready, or after a timeout, because local delivery works without it. */
export function readyInTime(bus: Pick<Backplane, 'ready'>): Promise<void> {
  return within(START_TIMEOUT_MS, bus.ready());
}

/** What an outage of Redis or NATS is called in the log and among the problems. */
interface OutageTexts {
  /** What follows while the server is unreachable. */
  down: string;
  /** What follows while the server rejects a command. */
  rejected: string;
  /** The message when the outage is over. */
  up: string;
}

/**
 * Reports the outages of the server that the workers depend on.
 * @param fields further fields of the log lines
 */
export function outageEvents(server: 'Redis' | 'NATS', fields: object, texts: OutageTexts): BackplaneEvents {
  const outage = new Outage();
  return {
    // Only the log has the words of the server, which may name users and channels.
    onDown: (reason, rejected) => outage.begin(reasonOf(server, reason, rejected, texts), { ...fields, reason }),
    onUp: (unsent) => {
      outage.close();
      thisProcess.reports.log.info({ ...fields, unsent }, texts.up);
    },
  };
}

function reasonOf(server: 'Redis' | 'NATS', reason: string, rejected: string | undefined, texts: OutageTexts): Reason {
  if (reason === HUB_GONE) return { code: 'HUB_ENDED', text: `${HUB_GONE}: ${texts.down}` };
  const cause = brokerCause(reason);
  if (rejected) {
    const code = server === 'Redis' ? 'REDIS_COMMAND_REJECTED' : 'BUS_COMMAND_REJECTED';
    const word = cause ? ` (${cause.word})` : '';
    return { code, text: `${server} rejects the command ${rejected}${word}: ${texts.rejected}` };
  }
  if (cause) return { code: cause.code, text: `${cause.text}: ${texts.down}` };
  const code = server === 'Redis' ? 'REDIS_UNREACHABLE' : 'BUS_UNREACHABLE';
  return { code, text: `${server} is unreachable: ${texts.down}` };
}

/** The events of the backplane of a worker. */
export function backplaneEvents(bus: BackplaneName): BackplaneEvents {
  const { server = 'Redis', isClassic } = backplaneKindOf(bus);
  const [what, where] = isClassic ? ['rooms', 'workers and machines'] : ['rooms and sessions', 'machines'];
  const texts = {
    down: `${what} do not span ${where}`,
    rejected: `${what} do not fully span ${where}`,
    up: 'the backplane is up',
  };
  return {
    ...outageEvents(server, { bus }, texts),
    onGap: (from, reason) => {
      const count = gaps.due();
      if (count === undefined) return;
      thisProcess.reports.log.warn(
        { from, reason, count },
        'frames of other workers were lost: messages may be missing',
      );
    },
    onRecoveryBound: (reason) => {
      const clients = bounds.due(reason);
      if (clients === undefined) return;
      thisProcess.reports.log.warn(
        { reason, clients },
        'clients got a new session: a bound of connection state recovery was reached',
      );
    },
  };
}

/** At most one log line about lost frames, and one about each bound of recovery, in this time, in ms. */
const LOG_INTERVAL_MS = 60_000;
const gaps = new Seldom(LOG_INTERVAL_MS);
const bounds = new Seldom(LOG_INTERVAL_MS);

/** The prefix of the channels of workers and machines, on the server that the backplane depends on. */
export function channelPrefixOf(config: RunConfig): string {
  return backplaneKindOf(backplaneNameOf(config)).server === 'NATS' ? config.natsPrefix : redisNamesOf(config).channels;
}

/** The links over this machine's mesh, for the embedded backplane or another use with a message kind of its own. */
export function linksOf(mesh: MeshLinks, kind: Kind = kinds.bus): WorkerLinks {
  return {
    id: mesh.id,
    get members() {
      return mesh.members;
    },
    send: (to, payload) => mesh.send(to, kind, payload),
    broadcast: (payload) => mesh.broadcast(kind, payload),
    flush: () => mesh.flush(),
    onMessage: (listener) => mesh.listenTo(kind, listener),
    onLeave: (listener) => mesh.onLeave(listener),
  };
}
