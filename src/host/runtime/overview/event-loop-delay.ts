import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

/** How often the delay is measured, in ms. */
const RESOLUTION_MS = 20;
/** Without a reader for so long, the measuring stops, in ms. */
const IDLE_MS = 15_000;

export interface Delay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Measures the delay of the event loop while it is read from time to time. Otherwise it costs nothing. */
export class EventLoopDelay {
  private histogram: IntervalHistogram | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** The delay in ms since the last read; undefined for the first one. */
  read(): Delay | undefined {
    const { histogram } = this;
    this.timer ??= setTimeout(() => this.stop(), IDLE_MS).unref();
    this.timer.refresh();
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

  private stop(): void {
    this.histogram?.disable();
    this.histogram = undefined;
    this.timer = undefined;
  }
}

/** The measured intervals contain the resolution. */
function msOf(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
}
