import type { Serializable } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import type { Logger } from 'pino';
import { own } from '../../base/owner.js';
import { ALIVE_INTERVAL_MS, type Envelope, type FromPrimary, type FromWorker, WORKER_PLACE } from '../protocol.js';

/** What is silent for more intervals than this in a row is reported. */
const REPORTED_TURNS = 3;
/** A worker that is silent for more intervals than this in a row counts as hung. */
const MAX_SILENT_TURNS = 10;
/** The same for a worker that is starting. */
const MAX_START_TURNS = 30;
/** Added to the limit of a starting worker for each worker, since all may be starting at the same time. */
const EXTRA_TURNS_PER_WORKER = 2;

/**
 * Finds hung workers, and a hung hub: stopped, or in an endless loop. Silence is counted in turns of the primary's own
 * timer. A primary that was itself stopped, or a machine that slept, therefore does not report them.
 */
export class Watchdog {
  private readonly silent = new Map<number, number>();
  private readonly timer: NodeJS.Timeout;

  /**
   * @param workers the number of workers
   * @param onHung called with the id of a hung worker
   * @param onSilent called when a worker may hang, and when it does not any more
   */
  constructor(
    private readonly workers: number,
    onHung: (worker: number) => void,
    private readonly onSilent: (worker: number, isSilent: boolean) => void = () => {},
  ) {
    this.timer = setInterval(() => {
      for (const [worker, turns] of this.silent) {
        this.silent.set(worker, turns + 1);
        if (turns === REPORTED_TURNS) this.onSilent(worker, true);
        if (turns === MAX_SILENT_TURNS) onHung(worker);
      }
    }, ALIVE_INTERVAL_MS);
  }

  /** A worker was forked. */
  began(worker: number): void {
    this.silent.set(worker, MAX_SILENT_TURNS - MAX_START_TURNS - EXTRA_TURNS_PER_WORKER * this.workers);
  }

  /** A worker has reported that it is alive. */
  heard(worker: number): void {
    this.forget(worker);
    this.silent.set(worker, 0);
  }

  /** A worker is gone. */
  forget(worker: number): void {
    if (this.silent.get(worker)! > REPORTED_TURNS) this.onSilent(worker, false);
    this.silent.delete(worker);
  }

  close(): void {
    clearInterval(this.timer);
  }
}

/** How long a worker may take to stop after its drain before it is killed, in ms. */
const STOP_TIMEOUT_MS = 10_000;
/** The same for an immediate stop. */
const STOP_NOW_TIMEOUT_MS = 3000;

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
  /** Whether it has been told to stop. */
  isStopping = false;
  /** Why it cannot continue, or why it has ended. */
  failure: string | undefined;
  private readonly worker: Worker;
  /** Called when it reports this, or is gone. */
  private readonly awaited = new Map<FromWorker['type'], () => void>();
  private end = () => {};

  /**
   * @param isSpare whether it is being replaced, or replaces a worker that still runs. It is not forked again when it ends.
   */
  constructor(
    environment: Record<string, string>,
    /** See {@link WORKER_PLACE}. */
    readonly place: number,
    public isSpare: boolean,
    private readonly log: Logger,
  ) {
    this.worker = cluster.fork({ ...environment, [WORKER_PLACE]: String(place) });
    // node:cluster also answers a worker that has just died. Its `exit` event is handled separately.
    this.worker.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ERR_IPC_CHANNEL_CLOSED') throw error;
    });
    this.gone = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  get id(): number {
    return this.worker.id;
  }

  get isDead(): boolean {
    return this.worker.isDead();
  }

  /** How long it has lived, in ms. */
  get age(): number {
    return performance.now() - this.bornAt;
  }

  send(message: FromPrimary): void {
    const envelope: Envelope<FromPrimary> = { gjallar: message };
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
  stop(over: number): Promise<void> {
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
      this.send({ type: 'stop', over });
    });
  }

  /** Turns the stop in progress into an immediate one. */
  stopNow(): void {
    this.send({ type: 'stopNow' });
    setTimeout(() => this.worker.process.kill('SIGKILL'), STOP_NOW_TIMEOUT_MS).unref();
  }
}
