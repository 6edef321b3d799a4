import { ALIVE_INTERVAL_MS } from '../protocol.js';

/** A worker that is silent for more intervals than this in a row counts as hung. */
const MAX_SILENT_TURNS = 10;
/** The same for a worker that is starting. */
const MAX_START_TURNS = 30;
/** Added to the limit of a starting worker for each worker, since all may be starting at the same time. */
const EXTRA_TURNS_PER_WORKER = 2;

/**
 * Finds hung workers: stopped, or in an endless loop. Silence is counted in turns of the primary's own timer. A primary
 * that was itself stopped, or a machine that slept, therefore does not report its workers.
 */
export class Watchdog {
  private readonly silent = new Map<number, number>();
  private readonly timer: NodeJS.Timeout;

  /**
   * @param workers the number of workers
   * @param onHung called with the id of a hung worker
   */
  constructor(
    private readonly workers: number,
    onHung: (worker: number) => void,
  ) {
    this.timer = setInterval(() => {
      for (const [worker, turns] of this.silent) {
        this.silent.set(worker, turns + 1);
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
    this.silent.set(worker, 0);
  }

  /** A worker is gone. */
  forget(worker: number): void {
    this.silent.delete(worker);
  }

  close(): void {
    clearInterval(this.timer);
  }
}
