import {
  constants,
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
  performance,
} from 'node:perf_hooks';
import { counter, gauge, type Metric } from './metric.js';

const gcKinds: Record<number, string> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

/** How often the delay of the event loop is looked at, in ms. */
const RESOLUTION = 20;

/**
 * What a process uses, under the names that dashboards for Node know where the meaning is theirs. Not prom-client's own
 * set: that lists a directory with an entry for each connection, and counts one of several collections that come at
 * once.
 */
export function processMetrics(): Metric[] {
  const gc = watchCollections();
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION });
  delay.enable();
  const lateness = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - RESOLUTION / 1e3);
  return [
    counter('process_cpu_seconds_total', 'CPU time, user and system, of all threads of the worker.', () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }),
    gauge('process_start_time_seconds', 'When the worker started, in seconds since 1970.', () =>
      Math.round(performance.timeOrigin / 1000),
    ),
    gauge('process_resident_memory_bytes', 'Resident memory of the worker.', () => process.memoryUsage.rss()),
    gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use.', () => process.memoryUsage().heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory outside the heap that JavaScript objects hold.', () => {
      return process.memoryUsage().external;
    }),
    {
      name: 'gjallar_gc_seconds_total',
      type: 'counter',
      help: 'Time that garbage collections took.',
      labels: ['kind'],
      read: () => gc,
    },
    counter(
      'gjallar_event_loop_busy_seconds_total',
      'Time that the event loop had something to do: its rate is how busy the worker is, and 1 is all it can.',
      () => performance.eventLoopUtilization().active / 1000,
    ),
    gauge('nodejs_eventloop_lag_p99_seconds', 'How late timers were since the last scrape, 99th percentile.', () =>
      lateness(delay.percentile(99)),
    ),
    gauge('nodejs_eventloop_lag_max_seconds', 'How late timers were since the last scrape, at most.', () => {
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
