import type { Clock } from '../../../src/engine/clock.js';

/** A clock in the test's hand: time passes with {@link advance} only. */
export class TestClock implements Clock {
  private time = 0;
  private idleTime = 0;
  private readonly immediates: (() => void)[] = [];
  private readonly timers = new Set<{ at: number; callback: () => void }>();

  now(): number {
    return this.time;
  }

  idle(): number {
    return this.idleTime;
  }

  afterTicks(callback: () => void): void {
    callback();
  }

  setTimeout(callback: () => void, ms: number): unknown {
    const timer = { at: this.time + ms, callback };
    this.timers.add(timer);
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.timers.delete(timer as { at: number; callback: () => void });
  }

  setImmediate(callback: () => void): unknown {
    this.immediates.push(callback);
    return callback;
  }

  clearImmediate(immediate: unknown): void {
    const at = this.immediates.indexOf(immediate as () => void);
    if (at !== -1) this.immediates.splice(at, 1);
  }

  /** How many timers run. */
  get running(): number {
    return this.timers.size;
  }

  /** Lets time pass without any timer, as when the process stands still. */
  stall(ms: number): void {
    this.time += ms;
  }

  /** Lets time pass, and each timer that is due meanwhile run at its time; what the last call left for later runs first. */
  advance(ms: number): void {
    for (const callback of this.immediates.splice(0)) callback();
    const end = this.time + ms;
    for (;;) {
      const due = [...this.timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.timers.delete(due);
      this.time = Math.max(this.time, due.at);
      due.callback();
    }
    this.time = end;
    this.idleTime += ms;
  }
}
