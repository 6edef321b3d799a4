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
import { type HealthByWorker, machineHealth } from '../host/operations/admin/machine-health.js';
import { MachineFigures, type PrimaryFacts, type ReportsByWorker } from '../host/operations/metrics/machine-figures.js';
import { mergeClients } from '../host/operations/overview/clients.js';
import { HISTORY, MachineOverview } from '../host/operations/overview/machine-overview.js';
import { statsOf } from '../host/operations/overview/overview.js';
import type { RecentEvents } from '../host/operations/overview/recent-events.js';
import { audited } from '../host/operations/reports.js';
import type { ActInput } from '../host/runtime/answers.js';
import { type Action, readAction, replyOf, targetOf } from '../host/runtime/operator/actions.js';
import { outcomeOf, type Report } from '../host/runtime/operator/operator.js';
import { atMostEvery } from '../io/http/at-most-every.js';
import { adminGuardOf } from '../io/http/guard.js';

/** How long workers may take to act for the operator, in ms: longer than they wait for other machines. */
const ACT_TIMEOUT_MS = 8000;
/** However many operators watch, the workers are asked at most once in this time, in ms. */
const OVERVIEW_INTERVAL_MS = 800;

/** How long a worker that starts may take to say what it waits for, in ms: it may be loading its application. */
const JOINING_TIMEOUT_MS = 300;

/** The longest that workers may take to report their figures, in ms. Prometheus waits ten seconds. */
const FIGURES_TIMEOUT_MS = 1000;
/** However many scrapers there are, the workers are asked at most once in this time, in ms. */
const METRICS_INTERVAL_MS = 1000;

/** What a primary knows of its machine, for `/metrics` and the admin port. */
export class Machine {
  private readonly problems = new Problems();
  readonly figures: MachineFigures;
  /** The metrics in the text format of Prometheus. */
  readonly metrics: () => Promise<string>;

  /** @param recent the events of the primary itself */
  constructor(
    private readonly primary: Primary,
    private readonly config: RunConfig,
    private readonly log: Logger,
    private readonly recent: RecentEvents,
  ) {
    const ask = async (hasLists: boolean) => {
      const what = { inputOf: () => hasLists, timeoutMs: FIGURES_TIMEOUT_MS };
      return (await primary.ask('figures', primary.listening, what)) as ReportsByWorker;
    };
    this.figures = new MachineFigures(ask, () => this.facts);
    this.metrics = atMostEvery(METRICS_INTERVAL_MS, () => this.figures.metrics());
  }

  private get facts(): PrimaryFacts {
    const { primary, config, problems } = this;
    return {
      configuredWorkers: config.workers,
      isStarting: primary.isStarting,
      isLeaving: primary.isDraining,
      isOnPort: primary.isOnPort,
      logWarning: logOutput.warning,
      problems,
      version,
      deaths: primary.deathsInAll,
      reloads: primary.reloads.counts,
    };
  }

  /** Opens the admin port. Resolves with its number. @throws GjallarError BAD_CONFIG */
  serve(port: number): Promise<number> {
    const { config, log } = this;
    const { adminHost: host, allowedHosts } = config;
    const onError = (error: unknown) => log.error({ error }, 'a request to the admin port failed');
    const options = { host, port, allowedHosts, admin: adminGuardOf(config, log), onError };
    return new AdminServer(this.source(), options).listen();
  }

  private source(): AdminSource {
    const { primary, log, figures } = this;
    const overview = new MachineOverview(figures, () => ({
      ...this.facts,
      host: hostname(),
      cores: availableParallelism(),
      memoryLimit: memoryLimit(),
      uptime: Math.round(process.uptime()),
      recent: this.recent.all,
    }));
    setInterval(owned('keeping figures for the admin page', overview.keep.bind(overview)), HISTORY.intervalMs).unref();
    return {
      health: async () => {
        const [answers, joining] = await Promise.all([
          primary.ask('health') as Promise<HealthByWorker>,
          primary.ask('health', primary.joining, { timeoutMs: JOINING_TIMEOUT_MS }) as Promise<HealthByWorker>,
        ]);
        return machineHealth(answers, this.facts, joining);
      },
      metrics: this.metrics,
      stats: async () => statsOf(await figures.reports()),
      clients: async (query) => {
        const what = { inputOf: () => query, timeoutMs: FIGURES_TIMEOUT_MS };
        return mergeClients(
          (await primary.ask('clients', primary.listening, what)) as Parameters<typeof mergeClients>[0],
        );
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
