import { chmodSync, closeSync, existsSync, mkdirSync, openSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
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
export async function retryWhileBusy<T>(attempt: () => Promise<T> | T, timeoutMs = 5000, waitMs = 1): Promise<T> {
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

/** Files that SQLite puts beside the database. It gives them the database's mode, but only when it creates them. */
const COMPANIONS = ['-wal', '-shm'];

/**
 * Makes sure that only this user can read a SQLite file: everyone who can read it reads the messages. The folder is
 * created if it is missing. An existing folder keeps its mode.
 */
export function createPrivately(path: string): void {
  createFolder(dirname(path));
  createEmpty(path);
  for (const file of [path, ...COMPANIONS.map((ending) => path + ending)]) {
    if (existsSync(file) && (statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  }
}

/**
 * Replaces a small file, which only this user can read, as a whole.
 *
 * @throws Error if it cannot be written; the former one is then still there
 */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, path);
}

/** Creates a folder and its parents, for this user only. The recursive mkdir of Node.js never returns below /proc. */
export function createFolder(path: string): void {
  if (existsSync(path)) return;
  createFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * Creates the file if it is missing. An existing one is not opened: to close it would end the locks that SQLite holds on
 * it in this process.
 */
function createEmpty(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
