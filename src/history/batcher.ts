/** One caller's share of a batch. Whoever commits the batch settles it. */
export interface Entry<Job, Result> {
  readonly job: Job;
  /** What the job counts towards the batch's size. */
  readonly weight: number;
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

export interface BatcherOptions<Job, Result> {
  /** Settles every entry. If it throws, the entries that it has not settled are rejected with the reason. */
  commit(entries: Entry<Job, Result>[]): Promise<void>;
  /** While busy, a batch begins no sooner than this after the one before, in milliseconds. */
  windowMs: number;
  /** A batch is closed once it weighs as much. */
  maxWeight: number;
  /** How many batches may be under way at once. */
  concurrency: number;
}

/**
 * Group commit: jobs that come in the same turn of the event loop, within the window after the last batch, or while no
 * further batch may begin share one. Who comes to an idle batcher does not wait.
 */
export class Batcher<Job, Result> {
  private readonly options: BatcherOptions<Job, Result>;
  private queue: Entry<Job, Result>[] = [];
  private running = 0;
  private scheduled = false;
  private lastBegin = -Infinity;
  private onIdle: (() => void)[] = [];

  constructor(options: BatcherOptions<Job, Result>) {
    this.options = options;
  }

  add(job: Job, weight = 1): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.queue.push({ job, weight, resolve, reject });
      this.schedule();
    });
  }

  /** Resolves once nothing is queued or under way. */
  idle(): Promise<void> {
    if (this.queue.length === 0 && this.running === 0) return Promise.resolve();
    return new Promise((resolve) => this.onIdle.push(resolve));
  }

  private schedule(): void {
    if (this.scheduled || this.queue.length === 0 || this.running >= this.options.concurrency) return;
    this.scheduled = true;
    const wait = this.lastBegin + this.options.windowMs - performance.now();
    // Not a microtask: those run between two sockets' messages, an immediate after all of the turn's messages.
    if (wait <= 0) setImmediate(() => this.begin());
    else setTimeout(() => this.begin(), Math.ceil(wait));
  }

  private begin(): void {
    this.scheduled = false;
    this.lastBegin = performance.now();
    this.running++;
    const batch = this.take();
    this.options
      .commit(batch)
      .catch((error: unknown) => {
        for (const entry of batch) entry.reject(error);
      })
      .finally(() => {
        this.running--;
        this.schedule();
        if (this.queue.length === 0 && this.running === 0) for (const done of this.onIdle.splice(0)) done();
      });
    this.schedule();
  }

  private take(): Entry<Job, Result>[] {
    let weight = 0;
    let count = 0;
    while (count < this.queue.length && (count === 0 || weight < this.options.maxWeight)) {
      weight += this.queue[count]!.weight;
      count++;
    }
    return this.queue.splice(0, count);
  }
}
