import { availableParallelism, hostname } from 'node:os';
import type { Logger } from 'pino';
import { GjallarError } from '../base/errors.js';
import { logOutput } from '../base/log.js';
import { owned } from '../base/owner.js';
import { version } from '../base/package.js';
import { Problems } from '../base/problems.js';
import { memoryLimit } from '../base/system-limits.js';
import type { Primary } from '../cluster/primary/primary.js';
import type { RunConfig } from '../host/config/options.js';
import { AdminServer, type AdminSource } from '../host/operations/admin/admin-server.js';
import { machineHealth } from '../host/operations/admin/machine-health.js';
import type { RecentEvents } from '../host/operations/overview/recent-events.js';
import { HISTORY, MachineOverview } from '../host/operations/overview/worker-sample.js';
import { audited } from '../host/operations/reports.js';
import type { ActInput, Answers } from '../host/runtime/answers.js';
import { atMostEvery } from '../host/runtime/intervals.js';
import { type Action, readAction, replyOf, targetOf } from '../host/runtime/operator/actions.js';
import { outcomeOf, type Report } from '../host/runtime/operator/operator.js';
import { adminGuardOf } from '../io/http/guard.js';

/** How long workers may take to act for the operator, in ms: longer than they wait for other machines. */
const ACT_TIMEOUT_MS = 8000;
/** However many operators watch, the workers are asked at most once in this time, in ms. */
const OVERVIEW_INTERVAL_MS = 800;

/**
 * The admin port of a primary.
 * @param recent the events of the primary itself
 */
export function adminServer(
  port: number,
  config: RunConfig,
  primary: Primary,
  log: Logger,
  recent: RecentEvents,
): AdminServer {
  const { adminHost: host, allowedHosts, workers } = config;
  const onError = (error: unknown) => log.error({ error }, 'a request to the admin port failed');
  return new AdminServer(adminSource(primary, workers, log, recent), {
    host,
    port,
    allowedHosts,
    admin: adminGuardOf(config, log),
    onError,
  });
}

/**
 * What the admin port shows and does.
 * @param configured the number of workers that should run
 */
function adminSource(primary: Primary, configured: number, log: Logger, recent: RecentEvents): AdminSource {
  const problems = new Problems();
  const facts = () => ({
    configuredWorkers: configured,
    isLeaving: primary.isDraining,
    isOnPort: primary.isOnPort,
    logWarning: logOutput.warning,
    problems,
  });
  const overview = new MachineOverview(
    async (isBrief) => {
      const answers = await primary.ask('overview', primary.listening, { inputOf: () => isBrief });
      return answers as Map<number, Answers['overview'] | undefined>;
    },
    () => ({
      ...facts(),
      version,
      host: hostname(),
      cores: availableParallelism(),
      memoryLimit: memoryLimit(),
      uptime: Math.round(process.uptime()),
      recent: recent.all,
    }),
  );
  setInterval(owned('keeping figures for the admin page', overview.keep.bind(overview)), HISTORY.intervalMs).unref();
  return {
    health: async () => {
      const answers = (await primary.ask('health')) as Map<number, Answers['health'] | undefined>;
      return machineHealth(answers, facts());
    },
    metrics: async () => {
      // Each worker gathers the metrics of all. A stuck one does not answer.
      for (const worker of primary.listening) {
        const answer = (await primary.ask('metrics', [worker])).get(worker);
        if (typeof answer === 'string') return answer;
      }
      return undefined;
    },
    stats: async () => {
      const answers = (await primary.ask('stats')) as Map<number, Answers['stats'] | undefined>;
      const workers = [...answers].map(([id, stats]) => stats ?? { id, doesRespond: false });
      const known = [...answers.values()].filter((stats) => stats !== undefined);
      const namespaces: Record<string, number> = {};
      for (const stats of known) {
        for (const [name, count] of Object.entries(stats.namespaces)) {
          namespaces[name] = (namespaces[name] ?? 0) + count;
        }
      }
      return { ok: true, clients: known.reduce((sum, { clients }) => sum + clients, 0), namespaces, workers };
    },
    overview: atMostEvery(OVERVIEW_INTERVAL_MS, () => overview.read()),
    drain: (caller) =>
      audited(log, caller, 'drain', {}, () => {
        primary.leave();
        return { state: 'draining' };
      }),
    reload: (caller) =>
      audited(log, caller, 'reload', {}, () => {
        primary.reload();
        return { state: 'reloading' };
      }),
    act: (caller, type, input) => {
      const action = readAction(type, input);
      return audited(log, caller, type, targetOf(action), async () => replyOf(action, await act(primary, action)));
    },
  };
}

/** All workers of the machine act, and the first one passes the action on to other machines. */
async function act(primary: Primary, action: Action) {
  const [first] = primary.listening;
  const inputOf = (worker: number): ActInput => ({ action, isEverywhere: worker === first });
  const answers = await primary.ask('act', primary.listening, { inputOf, timeoutMs: ACT_TIMEOUT_MS });
  const reports = [...answers.values()].map((answer) => answer as Report | undefined);
  const known = reports.filter((report) => report !== undefined);
  if (known.length === 0) throw new GjallarError('OVERLOADED', 'No worker answers. Check /readyz and the log.');
  const outcome = outcomeOf(known);
  return { ...outcome, complete: outcome.complete && known.length === reports.length };
}
