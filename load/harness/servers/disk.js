import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { atExit } from '../../../test/support/children.js';

/** A folder on a file system of its own, in memory, that can be filled up. */
export class Disk {
  #unmount;
  #isUndone;
  /** Why it has no end of its own, or undefined where it has. */
  whyNotLimited;

  /** @param {string} path @param {string} size as mount takes it */
  constructor(path, size = '256m') {
    this.path = path;
    mkdirSync(path);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      // The processes that use it may be about to end.
      this.#unmount = () => execFileSync('umount', ['--lazy', this.path]);
      this.#isUndone = atExit(this.#unmount);
    } catch (error) {
      this.whyNotLimited = `no file system can be mounted here (${String(error.stderr).trim()})`;
    }
  }

  get #ballast() {
    return join(this.path, 'ballast');
  }

  /** Leaves no byte free. */
  fill() {
    for (const size of [1_048_576, 4096]) {
      try {
        for (;;) appendFileSync(this.#ballast, Buffer.alloc(size));
      } catch (error) {
        if (error.code !== 'ENOSPC') throw error;
      }
    }
  }

  free() {
    rmSync(this.#ballast, { force: true });
  }

  remove() {
    this.#unmount?.();
    this.#isUndone?.();
  }
}
