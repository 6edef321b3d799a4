import { jest } from '@jest/globals';
import * as time from '../../src/base/clock.js';
import { pass } from './until.js';

/** Time in this process, which can be moved ahead. */
export interface MovableClock {
  ahead(ms: number): Promise<void>;
  /** Moves ahead in steps of so many ms until the answer is yes. */
  until(ask: () => boolean | Promise<boolean>, step?: number): Promise<void>;
  /** Moves ahead until a promise has settled. Settles as the promise does. */
  settled<T>(promise: Promise<T>, step?: number): Promise<T>;
}

const MAX_STEPS = 10_000;

/**
 * From here to the end of the test file, time goes on as usual, and can be moved ahead. The timers that are due by then fire
 * in their order. Those of Node.js itself and of uWebSockets.js are not moved, nor those that run already, but
 * the time of the machine is. Call it once a service of this process has started.
 */
export function movableClock(): MovableClock {
  const before = performance.now();
  jest.useFakeTimers({ advanceTimers: 5, doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'hrtime'] });
  // It starts at 0, but does not go backwards.
  const sinceHere = performance.now.bind(performance);
  performance.now = () => before + sinceHere();
  const [started] = time.hrtime();
  const hrtime = (): [number, number] => [started + Math.floor(sinceHere() / 1000), (sinceHere() % 1000) * 1e6];
  const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis;
  const clear = (own: typeof clearTimeout, systems: typeof clearTimeout) => (timer: NodeJS.Timeout | undefined) => {
    systems(timer);
    own(timer);
  };
  time.replaceTime({
    ...{ ...time, setTimeout, setInterval, performance: { now: () => performance.now() } },
    clearTimeout: clear(clearTimeout, time.clearTimeout) as typeof clearTimeout,
    clearInterval: clear(clearInterval, time.clearInterval) as typeof clearInterval,
    hrtime: Object.assign(hrtime, { bigint: time.hrtime.bigint }),
  });
  const clock: MovableClock = {
    ahead: (ms) => jest.advanceTimersByTimeAsync(ms),
    until: async (ask, step = 100) => {
      for (let steps = 0; !(await ask()); steps++) {
        if (steps > MAX_STEPS) throw new Error(`Not within ${(MAX_STEPS * step) / 1000} s: ${ask}`);
        await clock.ahead(step);
        // What has been sent needs time to arrive.
        await pass(2);
      }
    },
    settled: async (promise, step) => {
      let isSettled = false;
      const note = () => {
        isSettled = true;
      };
      promise.then(note, note);
      await clock.until(() => isSettled, step);
      return promise;
    },
  };
  return clock;
}
