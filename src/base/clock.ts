import { performance as real } from 'node:perf_hooks';
import timers from 'node:timers';

/**
 * Time and timers as they are when gjallar is loaded. The tests of an application may replace those of Node.js (Jest, sinon), and
 * messages must leave all the same. Timers that an application sets through Socket.IO, such as the one of an acknowledgement, are
 * not from here.
 */
export const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = { ...timers };
export const { queueMicrotask } = globalThis;
export const { nextTick, hrtime } = process;
export const performance = { now: real.now.bind(real) };
