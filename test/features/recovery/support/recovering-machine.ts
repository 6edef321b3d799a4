import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { own } from '../../../support/children.js';
import { temporaryFolder } from '../../../support/folder.js';
import { useHub, Wanderer } from './recovering.js';

const script = fileURLToPath(new URL('recovering-worker.mjs', import.meta.url));

/** A worker with connection state recovery, in a process of its own. */
export interface RecoveringWorker {
  readonly id: number;
  readonly url: string;
  readonly process: ChildProcess;
  act(action: string, input?: object): void;
}

/** The workers of a machine, which can be killed, and their clients. */
export class RecoveringMachine {
  readonly workers = new Map<number, RecoveringWorker>();
  private readonly directory = temporaryFolder();
  private readonly clients: Wanderer[] = [];
  /** In this process: in the service, it is a thread of the primary. */
  private readonly hub = useHub({ bus: 'embedded', redisUrl: undefined }, 'machine-', this.directory);

  async start(id: number): Promise<RecoveringWorker> {
    await this.hub.hub;
    const others = [...this.workers.keys()].map(String);
    const child = own(fork(script, [this.directory, String(id), ...others], { execArgv: [] }));
    const [url] = (await once(child, 'message')) as [string];
    const act = (action: string, input = {}) => void child.send({ action, ...input });
    const worker = { id, url, process: child, act };
    this.workers.set(id, worker);
    return worker;
  }

  async kill({ id, process }: RecoveringWorker): Promise<void> {
    this.workers.delete(id);
    if (process.exitCode !== null || process.signalCode !== null) return;
    const exit = once(process, 'exit');
    process.kill('SIGKILL');
    await exit;
  }

  async client(worker: RecoveringWorker, room?: string, transport: 'websocket' | 'polling' = 'websocket') {
    const client = new Wanderer(worker.url, transport);
    this.clients.push(client);
    await client.connected();
    if (room !== undefined) await client.socket.emitWithAck('join', room);
    await client.heardAll(1);
    return client;
  }

  async remove(): Promise<void> {
    for (const client of this.clients.splice(0)) client.close();
    for (const worker of [...this.workers.values()]) await this.kill(worker);
    this.hub.end();
  }
}
