import { channel } from 'node:diagnostics_channel';
import { warnOfError } from './warnings.js';

/**
 * Owners of work that no caller waits for: timers, event handlers, and promises that run in the background. An error in one
 * of them would end the process, with all its clients. It is reported instead, and everything else goes on.
 */

/** A failure in the background. */
export interface BackgroundFailure {
  /** What has failed, as in "reading the topology of the cluster". */
  readonly work: string;
  readonly error: unknown;
}

/** Every failure passes here. Without a subscriber, it becomes a warning of the process. */
export const failures = channel('gjallar:failure');

export function reportFailure(work: string, error: unknown): void {
  const failure: BackgroundFailure = { work, error };
  if (failures.hasSubscribers) return failures.publish(failure);
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  warnOfError(work, `${work} failed: ${cause}`);
}

/**
 * Raises what a listener of the application has thrown, where it cannot be thrown without harm to others. It reaches
 * `uncaughtException`, as with stock socket.io.
 */
export function raise(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** Owns a promise. */
export function own(work: string, promise: PromiseLike<unknown>): void {
  promise.then(undefined, (error: unknown) => reportFailure(work, error));
}

/** Owns a callback: what it throws, and the promise that it returns. */
export function owned<Args extends unknown[]>(
  work: string,
  callback: (...args: Args) => unknown,
): (...args: Args) => void {
  return (...args) => attempt(work, () => callback(...args));
}

/** Owns work that is done at once: what it throws, and the promise that it returns. */
export function attempt(work: string, act: () => unknown): void {
  try {
    const result = act();
    if (result instanceof Promise) own(work, result);
  } catch (error) {
    reportFailure(work, error);
  }
}
