import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endWithFile } from '../../support/children.js';

const script = fileURLToPath(new URL('../../../load/torture/state/worker.mjs', import.meta.url));

/** Workers of one machine with the state room `quotes`, each in a process that can be stopped and killed. */
export class StateMachine {
  private readonly workers = new Map<number, StateWorker>();
  private ids = 0;

  private constructor(private readonly directory: string) {}

  static async start(): Promise<StateMachine> {
    return new StateMachine(await mkdtemp(join(tmpdir(), 'gjallar-state-')));
  }

  /** Starts one more, which has the state of the others. */
  async startWorker(): Promise<StateWorker> {
    const id = ++this.ids;
    const child = endWithFile(
      fork(script, [
        this.directory,
        `${id}`,
        'machine0',
        'embedded',
        '-',
        '-',
        ...[...this.workers.keys()].map(String),
      ]),
    );
    child.once('exit', () => this.workers.delete(id));
    const [{ url }] = (await once(child, 'message')) as [{ url: string }];
    const worker = new StateWorker(child, url);
    this.workers.set(id, worker);
    return worker;
  }

  async remove(): Promise<void> {
    await Promise.all([...this.workers.values()].map((worker) => worker.kill()));
    await rm(this.directory, { recursive: true, force: true });
  }
}

export class StateWorker {
  private numbers = 0;

  constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {
    child.setMaxListeners(0);
  }

  /** Has it do something with its room. */
  async call(name: 'set' | 'patch' | 'delete' | 'entries' | 'stats', ...args: unknown[]): Promise<unknown> {
    const number = ++this.numbers;
    this.child.send({ number, name, args });
    return new Promise((resolve, reject) => {
      const onMessage = (reply: { number: number; result?: unknown; error?: string }) => {
        if (reply.number !== number) return;
        this.child.off('message', onMessage);
        if (reply.error) reject(new Error(reply.error));
        else resolve(reply.result);
      };
      this.child.on('message', onMessage);
    });
  }

  async state(): Promise<Record<string, unknown>> {
    return Object.fromEntries((await this.call('entries')) as [string, unknown][]);
  }

  /** It runs no more until it resumes, and notices nothing. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }
}
