import { performance as real } from 'node:perf_hooks';
import timers from 'node:timers';

const system = {
  ...timers,
  performance: { now: real.now.bind(real) },
  hrtime: process.hrtime as Pick<typeof process.hrtime, 'bigint'> & (() => [number, number]),
};

/**
 * Time and timers as they are when gjallar is loaded. The tests of an application may replace those of Node.js (Jest, sinon), and
 * messages must leave all the same. Timers that an application sets through Socket.IO, such as the one of an acknowledgement, are
 * not from here.
 */
export let { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, performance, hrtime } =
  system;
export const { queueMicrotask } = globalThis;
export const { nextTick } = process;

/** Resolves after so many ms. */
export const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export type Time = Pick<
  typeof system,
  | 'setTimeout'
  | 'setInterval'
  | 'setImmediate'
  | 'clearTimeout'
  | 'clearInterval'
  | 'clearImmediate'
  | 'performance'
  | 'hrtime'
>;

/**
 * Lets a simulation own all of these, until the function that it returns is called. What ends with the turn, microtasks and
 * `nextTick`, stays the system's.
 */
export function replaceTime(time: Time): () => void {
  const take = (from: Time) => {
    ({ setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, performance, hrtime } =
      from);
  };
  take(time);
  return () => take(system);
}
