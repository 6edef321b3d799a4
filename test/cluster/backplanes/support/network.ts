import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { own } from '../../../support/children.js';
import { late } from '../../../support/until.js';

/** Why hosts cannot be made here, or undefined where they can. */
export function whyNoHosts(): string | undefined {
  const probe = `gjallar-${process.pid}-probe`;
  try {
    ip('netns', 'add', probe);
    ip('netns', 'delete', probe);
    return undefined;
  } catch (error) {
    return `network namespaces cannot be made here: ${(error as Error).message.trim()}`;
  }
}

/**
 * Several hosts on this machine: a network namespace each, joined by a bridge in one more. Nothing of it is seen
 * outside, and no address is used but in these namespaces.
 */
export class Network {
  private readonly prefix = `gjallar-${process.pid}`;
  private readonly hosts: string[] = [];
  private readonly children = new Set<ChildProcess>();

  /** Makes the hosts `first`, `second` and so on, with the addresses 10.0.0.1, 10.0.0.2, … */
  constructor(readonly names: readonly string[]) {
    try {
      this.add('bridge');
      this.inside('bridge', 'link', 'add', 'bridge', 'type', 'bridge');
      this.inside('bridge', 'link', 'set', 'bridge', 'up');
      for (const [index, name] of names.entries()) {
        const host = this.add(name);
        this.inside('bridge', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', host);
        this.inside('bridge', 'link', 'set', name, 'master', 'bridge', 'up');
        this.inside(name, 'address', 'add', `10.0.0.${index + 1}/24`, 'dev', 'eth0');
        this.inside(name, 'link', 'set', 'eth0', 'up');
        this.inside(name, 'link', 'set', 'lo', 'up');
      }
    } catch (error) {
      this.takeDown();
      throw error;
    }
  }

  addressOf(name: string): string {
    return `10.0.0.${this.names.indexOf(name) + 1}`;
  }

  /** Starts a program on a host. */
  run(name: string, command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
    const child = own(spawn('ip', ['netns', 'exec', this.hostOf(name), command, ...args], options));
    this.children.add(child);
    child.once('exit', () => this.children.delete(child));
    return child;
  }

  /** Cuts a host off: what it sends is lost, and nobody tells it. */
  cut(name: string): void {
    this.inside('bridge', 'link', 'set', name, 'down');
  }

  heal(name: string): void {
    this.inside('bridge', 'link', 'set', name, 'up');
  }

  /** Ends what was started, and takes the hosts away. */
  async remove(): Promise<void> {
    await Promise.all(
      [...this.children].map(async (child) => {
        const exit = once(child, 'exit');
        // A process that was stopped has to go on to end.
        child.kill('SIGCONT');
        child.kill('SIGTERM');
        await Promise.race([exit, late('the end of a process').catch(() => child.kill('SIGKILL'))]);
        await exit;
      }),
    );
    this.takeDown();
  }

  private takeDown(): void {
    for (const host of this.hosts.splice(0)) ip('netns', 'delete', host);
  }

  private add(name: string): string {
    const host = this.hostOf(name);
    ip('netns', 'add', host);
    this.hosts.push(host);
    return host;
  }

  private hostOf(name: string): string {
    return `${this.prefix}-${name}`;
  }

  private inside(name: string, ...args: string[]): void {
    ip('-netns', this.hostOf(name), ...args);
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
