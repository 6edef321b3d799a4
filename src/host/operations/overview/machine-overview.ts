import { setTimeout as wait } from 'node:timers/promises';
import { type Overview, overviewOf, type PrimaryFacts } from './overview.js';
import type { WorkerSample } from './worker-sample.js';

/** Asks all workers for a sample. The value is undefined for a worker that does not answer in time. */
export type AskWorkers = () => Promise<ReadonlyMap<number, WorkerSample | undefined>>;

/** Samples that are older than this give no rates, in ms. */
const MAX_AGE_MS = 10_000;
/** How long the first reader waits between two samples, in ms. */
const FIRST_INTERVAL_MS = 500;

/** The overview of a machine. Workers are asked only when it is read. */
export class MachineOverview {
  private before = new Map<number, WorkerSample>();
  private beforeAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly ask: AskWorkers,
    private readonly facts: () => PrimaryFacts,
  ) {}

  /** Reads the overview. Its rates are those since the last read, or of half a second. */
  async read(): Promise<Overview> {
    if (performance.now() - this.beforeAt > MAX_AGE_MS) {
      this.keep(await this.ask());
      await wait(FIRST_INTERVAL_MS);
    }
    const { before } = this;
    const samples = await this.ask();
    this.keep(samples);
    return overviewOf(samples, before, this.facts());
  }

  private keep(samples: ReadonlyMap<number, WorkerSample | undefined>): void {
    this.before = new Map();
    for (const [id, sample] of samples) if (sample) this.before.set(id, sample);
    this.beforeAt = performance.now();
  }
}
