import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { end } from './children.js';

/** Debian installs servers where an account that is not root often does not look. */
export const withSbin = () => ({ ...process.env, PATH: `${process.env.PATH}:/usr/sbin` });

/** A server process of a test's or a program's own, with a directory of its own. */
export class OwnedProcess {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  child;

  /** @param {number} port @param {string} directory */
  constructor(port, directory) {
    this.port = port;
    this.directory = directory;
  }

  get pid() {
    return this.child?.pid;
  }

  /** Ends the process; what it had only in its memory is gone. @param {NodeJS.Signals} signal */
  async stop(signal = 'SIGKILL') {
    const { child } = this;
    this.child = undefined;
    if (child) await end(child, signal);
  }

  /** `SIGSTOP` lets it hang, `SIGCONT` go on. @param {NodeJS.Signals} signal */
  signal(signal) {
    this.child?.kill(signal);
  }

  async remove() {
    await this.stop();
    // A child that Redis has forked to write a file may outlive it for a moment.
    await rm(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

/**
 * Resolves with the next line of a process's output that has the text.
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} text
 * @param {'stdout' | 'stderr'} from
 * @returns {Promise<string>} rejects if it ends before, with what it has said
 */
export function lineWith(child, text, from = 'stdout') {
  const lines = [];
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${child.spawnfile} ended with ${code}:\n${lines.join('\n')}`)));
    createInterface(child[from]).on('line', (line) => {
      lines.push(line);
      if (lines.length > 100) lines.shift();
      if (line.includes(text)) resolve(line);
    });
  });
}
