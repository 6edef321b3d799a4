import type { Logger } from 'pino';
import { type Kind, kinds, type Mesh } from '../cluster/mesh/mesh.js';
import type { MeshLinks } from '../cluster/mesh/sub-mesh.js';
import type { Backplane, BackplaneEvents } from '../rooms/backplanes/backplane.js';
import type { WorkerLinks } from '../worker-links.js';
import type { MalformedMessages, MalformedSource } from './malformed.js';

/** The names of the kinds of messages between workers, as the metrics show them. */
const sources: { [kind in Kind]?: MalformedSource } = {
  [kinds.relay]: 'relay',
  [kinds.question]: 'metrics',
  [kinds.answer]: 'metrics',
  [kinds.addresses]: 'addresses',
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

/** Logs the start and the end of each outage once, and lists the outage among the worker's problems meanwhile. */
export function backplaneEvents(
  bus: string,
  { problems, malformed, log }: { problems: Set<string>; malformed: MalformedMessages; log: Logger },
): BackplaneEvents {
  let problem = '';
  return {
    onDown: (reason, rejected) => {
      problems.delete(problem);
      problem = rejected
        ? `Redis rejects the command ${rejected}: rooms do not fully span workers and machines`
        : 'Redis is unreachable: rooms do not span workers and machines';
      problems.add(problem);
      // Only the log has the words of Redis, which may name users and channels.
      log.error({ bus, reason }, problem);
    },
    onUp: (unsent) => {
      problems.delete(problem);
      log.info({ bus, unsent }, 'the backplane is up');
    },
    onMalformed: (reason) => malformed.note('bus', reason),
  };
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
    onMessage: (listener) => mesh.listenTo(kind, listener),
    onLeave: (listener) => mesh.onLeave(listener),
  };
}
