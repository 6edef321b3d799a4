import { performance as hooks } from 'node:perf_hooks';
import {
  clearImmediate,
  clearTimeout,
  nextTick,
  performance,
  queueMicrotask,
  setImmediate,
  setTimeout,
} from '../base/clock.js';

/** The time and the timers of time-dependent parts. Tests pass their own clock. */
export interface Clock {
  /** Milliseconds; never goes backwards. */
  now(): number;
  /** How long the event loop has waited for events, in ms. */
  idle(): number;
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  /** Calls back after the pending input has been read. */
  setImmediate(callback: () => void): unknown;
  clearImmediate(immediate: unknown): void;
  /** Calls back once all ticks, and the microtasks before, have run. */
  afterTicks(callback: () => void): void;
}

const { nodeTiming } = hooks as Partial<typeof hooks>;

export const systemClock: Clock = {
  now: () => performance.now(),
  // Other runtimes do not have it.
  idle: () => nodeTiming?.idleTime ?? 0,
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  setImmediate: (callback) => setImmediate(callback),
  clearImmediate: (immediate) => clearImmediate(immediate as NodeJS.Immediate),
  afterTicks: (callback) => nextTick(queueMicrotask, callback),
};

let current = 0;
let isPlanned = false;

function end(): void {
  current = (current + 1) & 0x3fffffff;
  isPlanned = false;
}

/** The number of the current tick. It stays the same until the current callback returns to the event loop. */
export function currentTick(): number {
  if (!isPlanned) {
    isPlanned = true;
    nextTick(end);
  }
  return current;
}
