import { afterEach, jest } from '@jest/globals';

/**
 * From here to the end of the test, time in this process goes on as usual, and the returned function moves it ahead. The
 * timers that are due by then fire in their order. Those of Node.js itself and of uWebSockets.js are not moved.
 */
export function movableClock(): (ms: number) => Promise<void> {
  jest.useFakeTimers({ advanceTimers: true, doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  return (ms) => jest.advanceTimersByTimeAsync(ms);
}

afterEach(() => {
  jest.useRealTimers();
});
