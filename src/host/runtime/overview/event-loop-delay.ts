import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

/** How often the delay is measured, in ms. */
const RESOLUTION_MS = 20;

export interface Delay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Measures the delay of the event loop from the first read on. Without an admin port, nobody reads, and it costs nothing. */
export class EventLoopDelay {
  private histogram: IntervalHistogram | undefined;

  /** The delay in ms since the last read; undefined for the first one. */
  read(): Delay | undefined {
    const { histogram } = this;
    if (!histogram) {
      this.histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
      this.histogram.enable();
      return undefined;
    }
    const delay = {
      p50: msOf(histogram.percentile(50)),
      p99: msOf(histogram.percentile(99)),
      max: msOf(histogram.max),
    };
    histogram.reset();
    return delay;
  }
}

/** The measured intervals contain the resolution. */
function msOf(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
}
