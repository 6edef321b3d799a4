import {
  constants,
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
  performance,
} from 'node:perf_hooks';
import type { Readings } from '../../../base/figures.js';
import { logOutput } from '../../../base/log.js';
import { maxDescriptors, openDescriptors } from '../../../base/system-limits.js';

const gcKinds: Record<number, string> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

/** How often the delay of the event loop is measured, in ms. */
const RESOLUTION = 20;

/** The resources of this process, measured from now on. Figures that mean the same as in dashboards for Node have the same names. */
export function processReadings(): () => Readings {
  const gc = watchCollections();
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION });
  delay.enable();
  // The measured intervals contain the resolution.
  const lateness = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - RESOLUTION / 1e3);
  return () => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed, external } = process.memoryUsage();
    const readings: Readings = {
      process_cpu_seconds_total: (user + system) / 1e6,
      process_open_fds: openDescriptors(),
      process_max_fds: maxDescriptors(),
      process_resident_memory_bytes: rss,
      nodejs_heap_size_used_bytes: heapUsed,
      nodejs_external_memory_bytes: external,
      nodejs_eventloop_lag_p99_seconds: lateness(delay.percentile(99)),
      nodejs_eventloop_lag_max_seconds: lateness(delay.max),
      gjallar_event_loop_busy_seconds_total: performance.eventLoopUtilization().active / 1000,
      gjallar_gc_seconds_total: gc,
      gjallar_log_lines_dropped_total: logOutput.dropped,
    };
    // The next answer has the delays after this one.
    delay.reset();
    return readings;
  };
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
