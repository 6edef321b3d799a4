import { spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { own } from './children.js';
import { lineWith, OwnedProcess, withSbin } from './owned-process.js';
import { onFreePort } from './ports.js';

/** A NATS server of its own, on the loopback interface. */
export class NatsProcess extends OwnedProcess {
  /** @param {string[]} settings lines of its configuration file */
  static async start(...settings) {
    const directory = await mkdtemp(join(tmpdir(), 'gjallar-nats-'));
    return onFreePort(async (port) => {
      const nats = new NatsProcess(port, directory);
      await nats.configure(...settings);
      await nats.start();
      return nats;
    });
  }

  get url() {
    return `nats://127.0.0.1:${this.port}`;
  }

  get #file() {
    return join(this.directory, 'nats.conf');
  }

  /** @param {string[]} settings */
  async configure(...settings) {
    await writeFile(this.#file, `${[`listen: "127.0.0.1:${this.port}"`, ...settings].join('\n')}\n`);
  }

  /** Lets it read its configuration again. */
  async reload() {
    const reloaded = lineWith(this.child, 'Reloaded server configuration', 'stderr');
    this.signal('SIGHUP');
    await reloaded;
  }

  async start() {
    const options = { stdio: ['ignore', 'ignore', 'pipe'], env: withSbin() };
    this.child = own(spawn('nats-server', ['--config', this.#file], options));
    await lineWith(this.child, 'Server is ready', 'stderr');
  }
}
