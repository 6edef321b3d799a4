import type { Serializable } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { own } from '../../base/owner.js';
import { ALIVE_INTERVAL_MS, type FromPrimary, type FromWorker, type Passed } from '../protocol.js';
import { OTHER_WIRE } from '../wire-number.js';
import { closeUnaccepted } from './node-cluster.private.js';

/** What is silent for more intervals than this in a row is reported. */
const REPORTED_TURNS = 3;
/** A worker that is silent for more intervals than this in a row counts as hung. */
const MAX_SILENT_TURNS = 10;
/** The same for what starts, if it uses no CPU either. */
const MAX_IDLE_TURNS = 30;

/** What the watchdog knows of what starts. */
interface Starts {
  /** How long a start may keep the event loop busy, in ms. */
  readonly startTimeout: number;
  /** The CPU time that a worker has used, in any unit; undefined if the system does not tell. */
  cpuOf(worker: number): number | undefined;
}

interface Watched {
  /** Turns without a sign of life. */
  silent: number;
  /** While it starts: turns until it counts as hung, whatever CPU it uses. */
  left?: number | undefined;
  cpu?: number | undefined;
}

/**
 * Finds hung workers, and a hung hub: stopped, or in an endless loop. Silence is counted in turns of the primary's own
 * timer. A primary that was itself stopped, or a machine that slept, therefore does not report them. An application may
 * block the event loop while it starts: as long as that uses CPU, it is no silence.
 */
export class Watchdog {
  private readonly watched = new Map<number, Watched>();
  private readonly timer: NodeJS.Timeout;

  /**
   * @param onHung called with the id of a hung worker, and what it did
   * @param onSilent called when a worker may hang, and when it does not any more
   */
  constructor(
    private readonly starts: Starts,
    private readonly onHung: (worker: number, failure: string) => void,
    private readonly onSilent: (worker: number, isSilent: boolean) => void = () => {},
  ) {
    this.timer = setInterval(() => {
      for (const [worker, watched] of this.watched) this.turn(worker, watched);
    }, ALIVE_INTERVAL_MS);
  }

  /** A worker was forked. */
  began(worker: number): void {
    this.watched.set(worker, { silent: 0, left: this.maxStartTurns, cpu: this.starts.cpuOf(worker) });
  }

  /** A worker has reported that it is alive. */
  heard(worker: number): void {
    const isStarting = this.watched.get(worker)?.left !== undefined;
    this.forget(worker);
    if (isStarting) this.began(worker);
    else this.watched.set(worker, { silent: 0 });
  }

  /** A worker has started. From now on, it may not block its event loop for long. */
  started(worker: number): void {
    this.watched.set(worker, { silent: 0 });
  }

  /** A worker is gone. */
  forget(worker: number): void {
    const { silent = 0, left } = this.watched.get(worker) ?? {};
    if (left === undefined && silent > REPORTED_TURNS) this.onSilent(worker, false);
    this.watched.delete(worker);
  }

  close(): void {
    clearInterval(this.timer);
  }

  private get maxStartTurns(): number {
    return Math.ceil(this.starts.startTimeout / ALIVE_INTERVAL_MS);
  }

  private turn(worker: number, watched: Watched): void {
    watched.silent++;
    if (watched.left !== undefined) return this.turnOfStart(worker, watched);
    if (watched.silent === REPORTED_TURNS + 1) this.onSilent(worker, true);
    if (watched.silent === MAX_SILENT_TURNS + 1) this.onHung(worker, 'does not respond and is killed');
  }

  private turnOfStart(worker: number, watched: Watched): void {
    const cpu = this.starts.cpuOf(worker);
    if (cpu === undefined || cpu !== watched.cpu) Object.assign(watched, { cpu, silent: 0 });
    watched.left!--;
    if (watched.silent === MAX_IDLE_TURNS) {
      this.onHung(worker, 'neither responded nor used CPU for 30 s of its start and is killed');
    } else if (watched.left === 0) {
      const after = `${this.maxStartTurns * (ALIVE_INTERVAL_MS / 1000)} s`;
      this.onHung(worker, `did not respond for ${after} of its start and is killed; START_TIMEOUT allows longer ones`);
    }
  }
}

/** The CPU time of a process in ticks; undefined if the system does not tell. */
export function cpuTicksOf(pid: number): number | undefined {
  try {
    // The name of the process is in parentheses, and may contain anything.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return undefined;
  }
}

/** How long a worker may take to stop after its drain before it is killed, in ms. So long may all of a machine. */
export const STOP_TIMEOUT_MS = 10_000;
/** The same for an immediate stop. */
const STOP_NOW_TIMEOUT_MS = 3000;

const NO_PROCESS = 'the system has started no process';

/** A worker as the primary sees it, from its fork to its end. */
export class ForkedWorker {
  readonly bornAt = performance.now();
  /** Resolves when its process has ended. */
  readonly gone: Promise<void>;
  isMeshed = false;
  isListening = false;
  /** The same as a time of `performance.now()`. */
  listeningSince = Number.POSITIVE_INFINITY;
  /** Whether it listens on a port. An application without one listens on none. */
  isOnPort = false;
  /** The ports with Socket.IO that it shares with the other workers. */
  readonly sharedPorts = new Set<number>();
  /** Other ports that it listens on. */
  readonly otherPorts = new Set<number>();
  /** Whether it has been told to stop. */
  isStopping = false;
  /** Whether it has ended because the installed files do not understand the primary. */
  isOtherBuild = false;
  /** Why it cannot continue, or why it has ended. */
  failure: string | undefined;
  private readonly worker: Worker;
  /** Called when it reports this, or is gone. */
  private readonly awaited = new Map<FromWorker['type'], () => void>();
  private end = () => {};

  /**
   * @param isSpare whether it is being replaced, or replaces a worker that still runs. It is not forked again when it ends.
   * @throws Error if the system starts no process now, as at a limit of processes or of open files
   */
  constructor(
    environment: Record<string, string>,
    public isSpare: boolean,
    private readonly log: Logger,
  ) {
    this.worker = cluster.fork(environment);
    // Node.js throws some errors of a start, and emits the others later.
    if (this.worker.process.pid === undefined) {
      delete cluster.workers?.[this.worker.id];
      this.worker.on('error', (error) => log.error({ error }, NO_PROCESS));
      throw new Error(NO_PROCESS);
    }
    closeUnaccepted(this.worker);
    // node:cluster also answers a worker that has just died. Its `exit` event is handled separately.
    this.worker.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ERR_IPC_CHANNEL_CLOSED') throw error;
    });
    this.gone = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  /** How many ports it listens on, as far as the primary knows. */
  get ports(): number {
    return this.sharedPorts.size + this.otherPorts.size;
  }

  get id(): number {
    return this.worker.id;
  }

  get isDead(): boolean {
    return this.worker.isDead();
  }

  /** See {@link cpuTicksOf}. */
  get cpuTicks(): number | undefined {
    return cpuTicksOf(this.worker.process.pid!);
  }

  /** How long it has lived, in ms. */
  get age(): number {
    return performance.now() - this.bornAt;
  }

  send(message: FromPrimary): void {
    const envelope: Passed<FromPrimary> = { gjallar: message };
    this.pass(envelope as unknown as Serializable);
  }

  /** Sends a message to the application. */
  pass(message: Serializable): void {
    // A worker that has just died has no channel. Its `exit` event is handled separately.
    if (this.worker.isConnected()) this.worker.send(message, () => {});
  }

  /** Resolves when the worker reports this, or is gone. */
  reported(type: FromWorker['type']): Promise<void> {
    return new Promise((resolve) => {
      if (this.isDead) resolve();
      else this.awaited.set(type, resolve);
    });
  }

  /** It has sent a message. */
  heard(message: FromWorker): void {
    if (message.type === 'listening') {
      this.isListening = true;
      this.isOnPort = message.isOnPort;
      this.listeningSince = performance.now();
    }
    this.awaited.get(message.type)?.();
  }

  /** Its process has ended. */
  ended(code: number, signal: string | null): void {
    this.isOtherBuild = code === OTHER_WIRE;
    this.failure ??= signal ? `was ended by ${signal}` : `ended with exit code ${code}`;
    for (const resolve of this.awaited.values()) resolve();
    this.end();
  }

  /** Kills it because of a failure. Several workers may report the same one. */
  kill(failure: string): boolean {
    if (this.worker.process.killed) return false;
    this.failure ??= failure;
    this.worker.process.kill('SIGKILL');
    return true;
  }

  /** Drains it over a number of ms, and ends it. Resolves when it is gone. */
  stop(over: number, successor?: number): Promise<void> {
    const { process } = this.worker;
    this.isStopping = true;
    return new Promise((resolve) => {
      if (this.isDead) return resolve();
      const timer = setTimeout(() => {
        this.log.warn({ worker: this.id }, 'a worker did not stop in time and is killed');
        process.kill('SIGKILL');
      }, over + STOP_TIMEOUT_MS);
      timer.unref();
      const ended = this.gone.then(() => {
        clearTimeout(timer);
        resolve();
      });
      own('waiting for a worker to end', ended);
      // A worker that is still starting has no clients, and may not read its messages yet.
      if (!this.isListening) return void process.kill('SIGKILL');
      this.send({ type: 'stop', over, successor });
    });
  }

  /** Turns the stop in progress into an immediate one. */
  stopNow(): void {
    this.send({ type: 'stopNow' });
    setTimeout(() => this.worker.process.kill('SIGKILL'), STOP_NOW_TIMEOUT_MS).unref();
  }
}
