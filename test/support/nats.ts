import { spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endWithFile } from './children.js';
import { OwnedProcess } from './owned-process.js';
import { onFreePort } from './ports.js';

/** A NATS server of the test's own, on the loopback interface. */
export class NatsProcess extends OwnedProcess {
  /** @param settings lines of its configuration file */
  static async start(...settings: string[]): Promise<NatsProcess> {
    const directory = await mkdtemp(join(tmpdir(), 'gjallar-nats-'));
    return onFreePort(async (port) => {
      const nats = new NatsProcess(port, directory);
      await nats.configure(...settings);
      await nats.start();
      return nats;
    });
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  async configure(...settings: string[]): Promise<void> {
    const lines = [`listen: "127.0.0.1:${this.port}"`, ...settings];
    await writeFile(this.file, `${lines.join('\n')}\n`);
  }

  /** Lets it read its configuration again. */
  async reload(): Promise<void> {
    const reloaded = this.line('Reloaded server configuration');
    this.signal('SIGHUP');
    await reloaded;
  }

  async start(): Promise<void> {
    const args = ['--config', this.file];
    const child = endWithFile(spawn('nats-server', args, { stdio: ['ignore', 'ignore', 'pipe'], env: withSbin() }));
    this.child = child;
    await this.line('Server is ready');
  }

  private get file(): string {
    return join(this.directory, 'nats.conf');
  }

  /** Resolves with the next line of its log that contains the text. */
  private line(text: string): Promise<string> {
    const child = this.child!;
    return new Promise((resolve, reject) => {
      const lines = createInterface(child.stderr!);
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`nats-server ended with ${code}`)));
      lines.on('line', (line) => line.includes(text) && resolve(line));
    });
  }
}

/** Debian installs it where an account that is not root often does not look. */
function withSbin(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
}
