import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { own } from '../../harness/process/at-exit.js';
import { languages } from './install.js';

/** Idle clients of one language on one transport, in a process of their own. */
export class Clients {
  /** When each client was last ready, in ms: connected, and answered. */
  readyAt;
  /** Why clients were disconnected, as they say it. */
  reasons = new Set();
  #child;

  constructor(language, transport, url, count) {
    this.language = language;
    this.transport = transport;
    this.readyAt = new Array(count).fill(0);
    const [program, args] = languages[language].command([url, transport, String(count)]);
    this.#child = own(spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] }));
    createInterface(this.#child.stdout).on('line', (line) => this.#hear(line));
  }

  #hear(line) {
    const [, client, event, reason] = /^(\d+) (ready|disconnect)(?: \[(.*)\])?$/.exec(line) ?? [];
    if (event === 'ready') this.readyAt[Number(client)] = performance.now();
    else if (event === 'disconnect') this.reasons.add(reason);
  }

  /** How many clients have not been ready since a moment. */
  missingSince(moment) {
    return this.readyAt.filter((at) => at <= moment).length;
  }

  close() {
    this.#child.stdin.end();
  }
}
