/** The time and the timers that time-dependent parts use; a test puts its own in. */
export interface Clock {
  /** Milliseconds, never going back. */
  now(): number;
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  /** Calls back once what has come in was read. */
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
