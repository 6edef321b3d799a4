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

/** When the clock of {@link hrtime}, which all processes of a machine share, was 0: in ms since 1970, as its primary knew it at the start. */
export let timeOrigin = Date.now() - msOf(system.hrtime());

/** For a worker or a hub: that of its primary. */
export function setTimeOrigin(origin: number): void {
  timeOrigin = origin;
}

/** The time of this machine, in ms. All of its processes have the same. Unlike the time of day, it is never set. */
export const machineTime = (): number => timeOrigin + msOf(hrtime());

function msOf([seconds, nanoseconds]: [number, number]): number {
  return 1000 * seconds + nanoseconds / 1e6;
}

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
> & { readonly timeOrigin: number };

/**
 * Lets a simulation own all of these, until the function that it returns is called. What ends with the turn, microtasks and
 * `nextTick`, stays the system's.
 */
export function replaceTime(time: Time): () => void {
  const take = (from: Time) => {
    ({ setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = from);
    ({ performance, hrtime, timeOrigin } = from);
  };
  const own = { ...system, timeOrigin };
  take(time);
  return () => take(own);
}
