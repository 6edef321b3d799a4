import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { accepts } from '../harness/ports.js';
import { atExit } from '../harness/process/at-exit.js';

export const HOST = '127.0.0.1';

/** An application that takes longer to start, or to end, is a failure, in ms. */
const MAX_START_MS = 60_000;
const MAX_END_MS = 5000;

/** A process that runs an application, with everything that it starts itself. */
export class ApplicationProcess {
  #child;
  #printed = { out: '', error: '' };
  /** Resolves with the exit code or the signal. */
  exited;

  /** @param {{ args: string[], cwd: string, port: number, env?: Record<string, string> }} options */
  constructor({ args, cwd, port, env }) {
    this.port = port;
    this.#child = spawn(process.execPath, args, {
      cwd,
      env: { ...cleanEnvironment(), PORT: String(port), HOST, HOSTNAME: HOST, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own: frameworks start processes, which have to end with it.
      detached: true,
    });
    const forget = atExit(() => this.#kill('SIGKILL'));
    for (const [name, stream] of [
      ['out', this.#child.stdout],
      ['error', this.#child.stderr],
    ]) {
      stream.setEncoding('utf8').on('data', (text) => {
        this.#printed[name] += text;
      });
    }
    this.exited = once(this.#child, 'close').then(([code, signal]) => {
      forget();
      return signal ?? code;
    });
    this.exited.catch(() => {});
  }

  /** Resolves when the port accepts connections. */
  async listening(port = this.port) {
    let ended = false;
    void this.exited.then(() => {
      ended = true;
    });
    for (const end = Date.now() + MAX_START_MS; Date.now() < end; await wait(20)) {
      if (ended) throw new Error(`the application ended at its start: ${this.printed('error').slice(-2000)}`);
      if (await accepts(port)) return;
    }
    throw new Error(`the application did not listen on port ${port} within ${MAX_START_MS / 1000} s`);
  }

  /** Resolves with the first match of a pattern in what the application prints. */
  async line(pattern) {
    for (let ended = false; ; ended = (await Promise.race([this.exited, wait(20)])) !== undefined) {
      const match = pattern.exec(this.#printed.out);
      if (match) return match;
      if (ended)
        throw new Error(`the application ended without printing ${pattern}: ${this.#printed.error.slice(-2000)}`);
    }
  }

  /** What the application has printed. @param {'out' | 'error'} stream */
  printed(stream) {
    return this.#printed[stream];
  }

  /** Ends the application, and all that it has started. */
  async end() {
    this.#kill('SIGTERM');
    const late = setTimeout(() => this.#kill('SIGKILL'), MAX_END_MS);
    await this.exited;
    clearTimeout(late);
    this.#kill('SIGKILL');
  }

  #kill(signal) {
    try {
      process.kill(-this.#child.pid, signal);
    } catch {
      // All its processes have ended.
    }
  }
}

/** Nothing of the caller's environment may change how an application runs. */
function cleanEnvironment() {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'CHROMIUM'];
  return Object.fromEntries(kept.filter((name) => name in process.env).map((name) => [name, process.env[name]]));
}
