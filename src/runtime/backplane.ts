import type { Logger } from 'pino';
import type { Backplane, BackplaneEvents } from '../backplanes/index.js';
import { type BackplaneName, backplaneKindOf, backplaneNameOf } from '../backplanes/index.js';
import { redisCause } from '../backplanes/redis-cause.js';
import { type Kind, kinds, type Mesh } from '../cluster/mesh/mesh.js';
import type { MeshLinks } from '../cluster/mesh/sub-mesh.js';
import { redisNamesOf } from '../config/redis-names.js';
import type { RunConfig } from '../config/run-options.js';
import type { WorkerLinks } from '../worker-links.js';
import type { MalformedMessages, MalformedSource } from './malformed.js';

/** The names of the kinds of messages between workers, as the metrics show them. */
const sources: { [kind in Kind]?: MalformedSource } = {
  [kinds.relay]: 'relay',
  [kinds.question]: 'metrics',
  [kinds.answer]: 'metrics',
};

/** Counts what arrives malformed over the mesh. */
export function reportMalformed(mesh: Mesh, malformed: MalformedMessages): void {
  mesh.onMalformed = (kind, reason) => malformed.note(sources[kind] ?? 'mesh', reason);
}

/** How long a start waits for the backplane before it continues without it, in ms. */
const START_TIMEOUT_MS = 5000;

/** Resolves when the backplane is ready, or after a timeout, because local delivery works without it. */
export async function readyInTime(bus: Pick<Backplane, 'ready'>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, START_TIMEOUT_MS);
  });
  await Promise.race([bus.ready(), timeout]);
  clearTimeout(timer);
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
 * Logs the start and the end of each outage once, and lists the outage among the worker's problems meanwhile.
 * @param server the server that the workers depend on
 * @param fields further fields of the log lines
 */
export function outageEvents(
  server: 'Redis' | 'NATS',
  fields: object,
  texts: OutageTexts,
  { problems, log }: { problems: Set<string>; log: Logger },
): BackplaneEvents {
  let problem = '';
  return {
    onDown: (reason, rejected) => {
      problems.delete(problem);
      const cause = server === 'Redis' ? redisCause(reason) : undefined;
      if (rejected) {
        problem = `${server} rejects the command ${rejected}${cause ? ` (${cause.code})` : ''}: ${texts.rejected}`;
      } else if (cause) problem = `${cause.text}: ${texts.down}`;
      else problem = `${server} is unreachable: ${texts.down}`;
      problems.add(problem);
      // Only the log has the words of the server, which may name users and channels.
      log.error({ ...fields, reason }, problem);
    },
    onUp: (unsent) => {
      problems.delete(problem);
      log.info({ ...fields, unsent }, texts.up);
    },
  };
}

/** The events of the backplane of a worker. */
export function backplaneEvents(
  bus: BackplaneName,
  worker: { problems: Set<string>; malformed: MalformedMessages; log: Logger },
): BackplaneEvents {
  const texts = {
    down: 'rooms do not span workers and machines',
    rejected: 'rooms do not fully span workers and machines',
    up: 'the backplane is up',
  };
  const { problems, malformed, log } = worker;
  return {
    ...outageEvents(backplaneKindOf(bus).server ?? 'Redis', { bus }, texts, worker),
    onOtherWire: (other, isThere) => {
      const problem =
        other === 'redis-sharded'
          ? `servers on this Redis Cluster use createShardedAdapter(), and this server uses BUS=${bus}: they do not hear ` +
            'each other. Use the same adapter on all servers, see docs/fan-out.md#other-adapters'
          : `servers or emitters on this Redis use BUS=${other}, and this server uses BUS=${bus}: they do not hear ` +
            'each other. Set the same BUS on all servers; stock servers and emitters require BUS=redis, and gjallar/emitter ' +
            'works with frames';
      if (!isThere) problems.delete(problem);
      else {
        problems.add(problem);
        log.error({ bus, other }, problem);
      }
    },
    onMalformed: (reason) => malformed.note('bus', reason),
    onGap: gapLog(log),
    onRecoveryBound: boundLog(log),
  };
}

/** At most one log line about lost frames in this time, in ms. */
const GAP_INTERVAL_MS = 60_000;

function gapLog(log: Logger): BackplaneEvents['onGap'] {
  let unlogged = 0;
  let lastLogged = Number.NEGATIVE_INFINITY;
  return (from, reason) => {
    unlogged++;
    const now = performance.now();
    if (now - lastLogged < GAP_INTERVAL_MS) return;
    log.warn({ from, reason, count: unlogged }, 'frames of other workers were lost: messages may be missing');
    lastLogged = now;
    unlogged = 0;
  };
}

/** How often clients that are not recovered because of a bound leave a line in the log, in ms. */
const BOUND_LOG_MS = 60_000;

/** Logs the bounds of connection state recovery that gave clients new sessions: each at most once a minute. */
function boundLog(log: Logger): BackplaneEvents['onRecoveryBound'] {
  const counts = new Map<string, { clients: number; loggedAt: number }>();
  return (reason) => {
    const count = counts.get(reason) ?? { clients: 0, loggedAt: Number.NEGATIVE_INFINITY };
    counts.set(reason, count);
    count.clients++;
    const now = performance.now();
    if (now - count.loggedAt < BOUND_LOG_MS) return;
    log.warn(
      { reason, clients: count.clients },
      'clients got a new session: a bound of connection state recovery was reached',
    );
    count.loggedAt = now;
    count.clients = 0;
  };
}

/** The prefix of the channels of workers and machines, on the server that the backplane depends on. */
export function channelPrefixOf(config: RunConfig): string {
  return backplaneNameOf(config) === 'nats' ? config.natsPrefix : redisNamesOf(config).channels;
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
