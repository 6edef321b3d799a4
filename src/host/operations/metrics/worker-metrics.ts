import type { Registry } from 'prom-client';
import { counter, gauge, Histogram, type Metric, noMetrics, promClient, register } from '../../../base/metric.js';
import type { Mesh } from '../../../cluster/mesh/mesh.js';
import { WorkerQuery } from '../../../cluster/mesh/worker-query.js';
import { socketsInUse } from '../../../engine/uws/uws.js';
import { processMetrics } from './process.js';

/** Facts of the whole machine, which come from the configuration and the primary. */
export interface MachineFacts {
  version: string;
  /** The number of workers that the configuration sets. */
  workers: number;
  /** The number of workers that have died since the start. */
  deaths(): number;
  /** The reloads since the start, by their outcome. */
  reloads(): { readonly finished: number; readonly aborted: number };
}

/** How long the other workers may take to answer, in ms. Prometheus waits ten seconds. */
const ANSWER_TIMEOUT_MS = 1000;

/**
 * The metrics of this worker, each with the label `worker`. Also gathers those of the machine's other workers. There are
 * none if prom-client is not installed.
 */
export class WorkerMetrics {
  private own: Registry | undefined;
  /** What is registered when the metrics are read for the first time. */
  private added: (Metric | Histogram)[] = [];
  private readonly query: WorkerQuery;

  constructor(
    private readonly mesh: Mesh,
    private readonly facts: MachineFacts,
  ) {
    this.add(processMetrics());
    this.query = new WorkerQuery(
      mesh,
      async () => (noMetrics ? undefined : this.registry.getMetricsAsJSON()),
      areMetrics,
    );
  }

  /** @throws GjallarError BAD_CONFIG if prom-client is not installed */
  get registry(): Registry {
    if (!this.own) {
      this.own = new (promClient().Registry)();
      this.own.setDefaultLabels({ worker: String(this.mesh.id) });
    }
    register(this.own, this.added);
    this.added = [];
    return this.own;
  }

  /** A metric by its name; undefined if there is none, or if prom-client is not installed. */
  find(name: string) {
    return noMetrics ? undefined : this.registry.getSingleMetric(name);
  }

  add(metrics: readonly (Metric | Histogram)[]): void {
    if (noMetrics) return;
    this.added.push(...metrics);
    for (const metric of metrics) {
      if (metric instanceof Histogram) metric.onUsed = () => setImmediate(() => this.registry);
    }
  }

  /**
   * The metrics of all workers of the machine, in the text format of Prometheus. A worker that does not answer in time
   * is left out, and reported as not up.
   * @throws GjallarError BAD_CONFIG if prom-client is not installed
   */
  async scrape(): Promise<string> {
    const { AggregatorRegistry, Registry } = promClient();
    const answers = (await this.query.ask(ANSWER_TIMEOUT_MS)) as Map<number, object[] | undefined>;
    const machine = new Registry();
    register(machine, machineMetrics(answers, this.facts));
    const parts = [await machine.getMetricsAsJSON(), ...answers.values()].filter((part) => part !== undefined);
    return AggregatorRegistry.aggregate(parts).metrics();
  }
}

/** Whether a value has the form of `getMetricsAsJSON()`. */
function areMetrics(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one?.name === 'string' && Array.isArray(one.values));
}

function machineMetrics(answers: Map<number, unknown>, { version, workers, deaths, reloads }: MachineFacts): Metric[] {
  return [
    {
      name: 'gjallar_build_info',
      type: 'gauge',
      help: 'Always 1; the labels name the versions of gjallar and Node.js, and the sockets: native or portable.',
      labels: ['version', 'node', 'sockets'],
      read: () => [[version, process.version, socketsInUse.kind, 1]],
    },
    {
      name: 'gjallar_worker_up',
      type: 'gauge',
      help: 'Whether the worker answers within a second; 0 means that it is stuck or overloaded.',
      labels: ['worker'],
      read: () => [...answers].map(([id, answer]) => [String(id), Number(answer !== undefined)]),
    },
    gauge(
      'gjallar_workers_configured',
      'Configured number of workers. Fewer are up while some are being replaced.',
      () => workers,
    ),
    counter('gjallar_worker_deaths_total', 'Workers that have died since the start of the server.', deaths),
    {
      name: 'gjallar_reloads_total',
      type: 'counter',
      help: 'Reloads since the start of the server, by outcome. An aborted one has kept the old workers.',
      labels: ['outcome'],
      read: () => {
        const { finished, aborted } = reloads();
        return [
          ['finished', finished],
          ['aborted', aborted],
        ];
      },
    },
  ];
}
