import { rmSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { timeOrigin } from '../../base/clock.js';
import { HUB } from '../mesh/mesh.js';
import type { Watchdog } from '../primary/forked-worker.js';
import { socketOf } from '../protocol.js';
import { OTHER_BUILD, OTHER_WIRE, wire } from '../wire-number.js';
import type { HubAddress } from './open.js';

/** What the thread of the hub is started with. */
export interface HubData {
  /** The folder of the workers' sockets. */
  readonly directory: string;
  /** The id of the machine. */
  readonly machine: string;
  readonly address: HubAddress | undefined;
  /** The number of the primary; see `wire-number.ts`. */
  readonly wireNumber: number;
  /** That of the clock of this machine. */
  readonly timeOrigin: number;
}

export type ToHub =
  /** Link with these workers, which accept links already. */
  | { readonly type: 'join'; readonly workers: readonly number[] }
  /** Read all that the workers have sent, which end first, hand over what is kept, and end. */
  | { readonly type: 'close' };
export type FromHub =
  /** The hub accepts links from workers. */
  | { readonly type: 'ready' }
  /** The hub's event loop runs. */
  | { readonly type: 'alive' }
  /** A worker does not read the messages of the hub. */
  | { readonly type: 'stuck'; readonly worker: number }
  /** So many messages to other machines could not be sent as the hub ended. */
  | { readonly type: 'unsent'; readonly messages: number };

/** The heap of the hub, in MiB. It holds names of rooms and a second of messages. */
const MAX_HEAP_MIB = 1024;
/** How long the replacement of a hub that has lived shortly is delayed, in ms. */
const DELAY_MS = 500;
const SHORT_LIFE_MS = 10_000;
/** The time that the hub always has to hand over what it keeps when it is closed, in ms. */
const MIN_CLOSE_MS = 1000;

const CUT_OFF =
  'the hub did not hand over what it keeps in time and is ended: clients that are offline get a new session. Check that Redis or ' +
  'NATS answers, and that the machine is not overloaded';
const UNSENT =
  'messages to other machines were lost as the hub ended. Check that Redis or NATS is up, and fast enough for what is published';
const ENDED = 'the hub has ended and will be replaced: rooms do not span machines meanwhile';

interface HubHost {
  readonly directory: string;
  readonly machine: string;
  readonly address: HubAddress | undefined;
  readonly log: Logger;
  /** Calls `end()` for a hub that hangs. */
  readonly watchdog: Pick<Watchdog, 'began' | 'started' | 'heard' | 'forget'>;
  /** The workers that accept links. */
  meshed(): number[];
  onStuck(worker: number): void;
}

/** The hub of a machine as its primary sees it: a thread that is started again when it ends. */
export class HubThread {
  private thread: Worker | undefined;
  /** Whether the hub accepts links. */
  isReady = false;
  private isClosing = false;
  private timer: NodeJS.Timeout | undefined;

  /** @param file the file of the thread */
  constructor(
    private readonly file: URL,
    private readonly host: HubHost,
  ) {}

  /** Resolves when the hub accepts links. */
  start(): Promise<void> {
    const { directory, machine, address, log, watchdog } = this.host;
    const bornAt = performance.now();
    rmSync(socketOf(directory, HUB), { force: true });
    const workerData: HubData = { directory, machine, address, wireNumber: wire.number, timeOrigin };
    // Without the flags of the process, which may load the application.
    const thread = new Worker(this.file, {
      ...{ workerData, execArgv: [], name: 'hub' },
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    });
    this.thread = thread;
    watchdog.began(HUB);
    return new Promise((resolve) => {
      thread.on('message', (message: FromHub) => {
        if (message.type === 'ready') {
          this.isReady = true;
          watchdog.started(HUB);
          this.tell({ type: 'join', workers: this.host.meshed() });
          resolve();
        } else if (message.type === 'alive') watchdog.heard(HUB);
        else if (message.type === 'stuck') this.host.onStuck(message.worker);
        else if (message.messages > 0) log.error({ messages: message.messages }, UNSENT);
      });
      thread.on('error', (error) => log.error({ error }, 'the hub has failed'));
      thread.once('exit', (code) => {
        this.isReady = false;
        this.thread = undefined;
        watchdog.forget(HUB);
        resolve();
        if (this.isClosing) return;
        const isOtherBuild = code === OTHER_WIRE;
        const delay = isOtherBuild ? SHORT_LIFE_MS : performance.now() - bornAt < SHORT_LIFE_MS ? DELAY_MS : 0;
        log.error({ exitCode: code, delay }, isOtherBuild ? `the hub cannot be replaced: ${OTHER_BUILD}` : ENDED);
        this.timer = setTimeout(() => void this.start(), delay);
      });
    });
  }

  /** Ends the thread, for instance because it hangs. Another one follows. */
  end(): void {
    void this.thread?.terminate();
  }

  /**
   * Ends the hub once it has read all that the workers have sent, which end first. Resolves when what it keeps is sent and the
   * thread has ended.
   * @param within how long that may take, in ms
   */
  async close(within: number): Promise<void> {
    this.isClosing = true;
    clearTimeout(this.timer);
    const { thread } = this;
    if (!thread) return;
    const ended = new Promise((resolve) => thread.once('exit', resolve));
    this.tell({ type: 'close' });
    const cutOff = () => {
      this.host.log.error({ limit: within }, CUT_OFF);
      void thread.terminate();
    };
    const timer = setTimeout(cutOff, Math.max(MIN_CLOSE_MS, within));
    await ended;
    clearTimeout(timer);
  }

  private tell(message: ToHub): void {
    this.thread?.postMessage(message);
  }
}
