import { ALIVE_INTERVAL_MS } from '../protocol.js';

/** A worker that has been silent for so many intervals in a row is taken for hung. */
const MAX_SILENT_TURNS = 10;
/** The same for one that is only starting, */
const MAX_START_TURNS = 30;
/** and so many more for each that may be starting at the same time. */
const EXTRA_TURNS_PER_WORKER = 2;

/**
 * Finds workers that are there but do nothing any more: stopped, or in an endless loop. Silence is counted in turns of
 * the primary's own timer, so that a primary that was itself stopped, or a machine that slept, finds nobody hung.
 */
export class Watchdog {
  private readonly silent = new Map<number, number>();
  private readonly timer: NodeJS.Timeout;

  /**
   * @param workers how many there are
   * @param onHung called with the id of a worker that gives no sign of life
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

  /** A worker has given a sign of life. */
  heard(worker: number): void {
    this.silent.set(worker, 0);
  }

  /** A worker has gone. */
  forget(worker: number): void {
    this.silent.delete(worker);
  }

  close(): void {
    clearInterval(this.timer);
  }
}
