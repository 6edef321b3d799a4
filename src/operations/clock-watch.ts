import { counter, type Metric } from './metrics/metric.js';
import type { Reports } from './reports.js';

const JUMPED = 'the clock jumped: times of messages and of tokens may be wrong';

const INTERVAL_MS = 1000;
/** A smaller difference is no jump. Time services correct small differences slowly. */
const MIN_JUMP_MS = 1000;
/** How long the warning stays. */
const WARNING_MS = 300_000;
/** Longest time between the reads of the two clocks, in ms. The process may be stopped in between. */
const MAX_READ_MS = 100;

/** The two clocks, in ms: the one that can be set, and the one that cannot. */
export interface Clocks {
  wall(): number;
  monotonic(): number;
}

const systemClocks: Clocks = { wall: () => Date.now(), monotonic: () => performance.now() };

/**
 * Finds jumps of the clock by comparing it with the monotonic clock. A machine that slept, or was moved to another host,
 * shows as a jump too.
 */
export class ClockWatch {
  private jumps = 0;
  private offset: number;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly reports: Pick<Reports, 'log' | 'warnings'>,
    private readonly clocks = systemClocks,
  ) {
    this.offset = this.readOffset() ?? clocks.wall() - clocks.monotonic();
    this.timer = setInterval(() => this.check(), INTERVAL_MS).unref();
  }

  /** Compares the two clocks. */
  check(): void {
    const { log, warnings } = this.reports;
    const offset = this.readOffset();
    if (offset === undefined) return;
    const byMs = Math.round(offset - this.offset);
    this.offset = offset;
    if (Math.abs(byMs) < MIN_JUMP_MS) return;
    this.jumps++;
    warnings.note(JUMPED, WARNING_MS);
    log.warn({ byMs }, JUMPED);
  }

  metrics(): Metric[] {
    return [counter('gjallar_clock_jumps_total', 'How often the clock was set by a second or more.', () => this.jumps)];
  }

  close(): void {
    clearInterval(this.timer);
  }

  /** Undefined if too much time passed between the reads. The next check then tries again. */
  private readOffset(): number | undefined {
    const before = this.clocks.monotonic();
    const wall = this.clocks.wall();
    const after = this.clocks.monotonic();
    return after - before > MAX_READ_MS ? undefined : wall - after;
  }
}
