import { setTimeout as sleep } from 'node:timers/promises';

/** SQLITE_BUSY and its variants, such as SQLITE_BUSY_RECOVERY: another process holds the lock. */
export const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');

/**
 * Repeats an attempt while another process writes to the same SQLite file. SQLite can wait by itself, but it would block
 * this thread.
 *
 * @param timeoutMs after which the last error is thrown
 * @param waitMs the least time between two attempts
 */
export async function retryWhileBusy<T>(attempt: () => Promise<T> | T, timeoutMs: number, waitMs = 1): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      // A random share, because two processes that collided once would otherwise collide again.
      await sleep(waitMs * (1 + Math.random()));
    }
  }
}
