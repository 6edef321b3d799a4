import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endWithFile } from '../../../support/children.js';

const folder = new URL('../../../../load/torture/state/', import.meta.url);
const script = fileURLToPath(new URL('worker.mjs', folder));
const hubScript = fileURLToPath(new URL('hub.mjs', folder));

/** Workers of one machine with the state room `quotes`, and its hub, each in a process that can be stopped and killed. */
export class StateMachine {
  private readonly workers = new Map<number, StateWorker>();
  private ids = 0;
  private hub: ChildProcess | undefined;

  private constructor(
    private readonly directory: string,
    /** The name and the URL of the bus. */
    private readonly bus: readonly [name: string, url: string],
    private readonly name: string,
  ) {}

  static async start(bus: readonly [string, string] = ['embedded', '-'], name = 'machine0'): Promise<StateMachine> {
    const machine = new StateMachine(await mkdtemp(join(tmpdir(), 'gjallar-state-')), bus, name);
    await machine.startHub();
    return machine;
  }

  /** Starts the hub, which links with the workers that are there. */
  async startHub(): Promise<void> {
    await rm(join(this.directory, '0.sock'), { force: true });
    this.hub = endWithFile(fork(hubScript, [this.directory, this.name, ...this.bus, ...this.workerIds]));
    await once(this.hub, 'message');
  }

  async killHub(): Promise<void> {
    if (this.hub) await kill(this.hub);
  }

  private get workerIds(): string[] {
    return [...this.workers.keys()].map(String);
  }

  /** Starts one more, which has the state of the others. */
  async startWorker(): Promise<StateWorker> {
    const id = ++this.ids;
    const child = endWithFile(fork(script, [this.directory, `${id}`, this.name, '-', '0', ...this.workerIds]));
    child.once('exit', () => this.workers.delete(id));
    const [{ url }] = (await once(child, 'message')) as [{ url: string }];
    const worker = new StateWorker(child, url);
    this.workers.set(id, worker);
    return worker;
  }

  async remove(): Promise<void> {
    await Promise.all([...this.workers.values()].map((worker) => worker.kill()));
    await this.killHub();
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
  async call(
    name: 'set' | 'patch' | 'delete' | 'entries' | 'stats' | 'caughtUp' | 'increment',
    ...args: unknown[]
  ): Promise<unknown> {
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
    await kill(this.child);
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
