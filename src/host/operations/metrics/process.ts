import {
  constants,
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
  performance,
} from 'node:perf_hooks';
import { counter, gauge, type Metric } from '../../../base/metric.js';
import { maxDescriptors, openDescriptors } from '../../../base/system-limits.js';

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
export function processMetrics(): Metric[] {
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
