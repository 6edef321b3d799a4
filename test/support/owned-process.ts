import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';

/** A server process of the test's own, with a directory of its own. */
export abstract class OwnedProcess {
  protected child: ChildProcess | undefined;

  protected constructor(
    readonly port: number,
    protected readonly directory: string,
  ) {}

  /** Ends the process; what it had only in its memory is gone. */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  }

  /** `SIGSTOP` lets it hang, `SIGCONT` go on. */
  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  async remove(): Promise<void> {
    await this.stop();
    // A child that Redis has forked to write a file may outlive it for a moment.
    await rm(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}
