import {
  constants,
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
  performance,
} from 'node:perf_hooks';
import type { Registry } from 'prom-client';
import { counter, gauge, Histogram, type Metric, noMetrics, promClient, register } from '../../../base/metric.js';
import { maxDescriptors, openDescriptors } from '../../../base/system-limits.js';
import type { Mesh } from '../../../cluster/mesh/mesh.js';
import { WorkerQuery } from '../../../cluster/mesh/worker-query.js';
import { socketsInUse } from '../../../engine/uws/uws.js';

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

const gcKinds: Record<number, string> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

/** How often the delay of the event loop is measured, in ms. */
const RESOLUTION = 20;

/**
 * The resources of a process. Metrics that mean the same as in dashboards for Node have the same names. prom-client's
 * default metrics are not used: they list a directory with an entry per connection, and miss simultaneous collections.
 */
function processMetrics(): Metric[] {
  const gc = watchCollections();
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION });
  delay.enable();
  const lateness = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - RESOLUTION / 1e3);
  return [
    counter('process_cpu_seconds_total', 'CPU time of all threads of the worker, user and system.', () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }),
    gauge('process_start_time_seconds', 'Start time of the worker, in seconds since 1970.', () =>
      Math.round(performance.timeOrigin / 1000),
    ),
    gauge('process_open_fds', 'Open file descriptors of the worker.', openDescriptors),
    gauge('process_max_fds', 'Maximum number of open file descriptors of the worker.', maxDescriptors),
    gauge('process_resident_memory_bytes', 'Resident memory of the worker.', () => process.memoryUsage.rss()),
    gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use.', () => process.memoryUsage().heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory outside the heap that belongs to JavaScript objects.', () => {
      return process.memoryUsage().external;
    }),
    {
      name: 'gjallar_gc_seconds_total',
      type: 'counter',
      help: 'Time spent in garbage collection, by kind.',
      labels: ['kind'],
      read: () => gc,
    },
    counter(
      'gjallar_event_loop_busy_seconds_total',
      'Time for which the event loop was busy. A rate of 1 means that the worker is saturated.',
      () => performance.eventLoopUtilization().active / 1000,
    ),
    gauge('nodejs_eventloop_lag_p99_seconds', 'Delay of timers since the last scrape, 99th percentile.', () =>
      lateness(delay.percentile(99)),
    ),
    gauge('nodejs_eventloop_lag_max_seconds', 'Delay of timers since the last scrape, maximum.', () => {
      const longest = lateness(delay.max);
      delay.reset();
      return longest;
    }),
  ];
}

/** Seconds by kind of collection, kept up to date. */
function watchCollections(): Map<string, number> {
  const seconds = new Map(Object.values(gcKinds).map((kind) => [kind, 0]));
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { detail: { kind: number } })[]) {
      const kind = gcKinds[entry.detail.kind];
      if (kind) seconds.set(kind, seconds.get(kind)! + entry.duration / 1000);
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return seconds;
}
