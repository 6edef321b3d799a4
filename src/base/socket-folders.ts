import { mkdtempSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The folder of a process: its id, and what makes the name unique. */
const NAME = /^gjallar-(\d+)-\w{6}$/;
/** A younger folder may get its sockets later. */
const MIN_AGE_MS = 60_000;

/**
 * Creates a folder for Unix sockets of this process. Then it removes those of processes that were killed, in the
 * background.
 */
export function makeSocketFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, `gjallar-${process.pid}-`));
  // What another process removes at the same time is gone, too, and what cannot be removed stays.
  removeAbandoned(parent).catch(() => {});
  return folder;
}

/** Removes the folders of this user whose process is gone, and in which no process listens. */
export async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(NAME.exec(name)?.[1] ?? 0);
    if (pid === 0 || isAlive(pid)) continue;
    const folder = join(parent, name);
    if (await isAbandoned(folder).catch(() => false)) await rm(folder, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** In another container that shares the folder, the process may be alive under its number. Then it listens. */
async function isAbandoned(folder: string): Promise<boolean> {
  const { mtimeMs, uid } = await lstat(folder);
  if (uid !== process.getuid?.() || Date.now() - mtimeMs < MIN_AGE_MS) return false;
  for (const name of await readdir(folder)) if (await isListening(join(folder, name))) return false;
  return true;
}

function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const done = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => done(true));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => done(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  });
}
