/** The time and the timers of time-dependent parts. Tests pass their own clock. */
export interface Clock {
  /** Milliseconds; never goes backwards. */
  now(): number;
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  /** Calls back after the pending input has been read. */
  setImmediate(callback: () => void): unknown;
  clearImmediate(immediate: unknown): void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  setImmediate: (callback) => setImmediate(callback),
  clearImmediate: (immediate) => clearImmediate(immediate as NodeJS.Immediate),
};
