import { setImmediate } from '../../base/clock.js';

/** One caller's share of a batch. The commit of the batch settles it. */
export interface Entry<Job, Result> {
  readonly job: Job;
  /** How much the job adds to the batch's size. */
  readonly weight: number;
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

export interface BatcherOptions<Job, Result> {
  /** Settles every entry. If it throws, the entries that it has not settled are rejected with the reason. */
  commit(entries: Entry<Job, Result>[]): Promise<void>;
  /**
   * The least time between the beginnings of two batches. Where several may be in progress, the first one of them does not wait for
   * it: what comes meanwhile shares the next batch, which begins with the end of the first one, or after this time.
   */
  windowMs: number;
  /** A batch is closed once it weighs as much. */
  maxWeight: number;
  /** How many batches may be in progress at once. */
  concurrency: number;
}

/**
 * Group commit: jobs that come in the same turn of the event loop, within the window after the last batch, or while no
 * further batch may begin share one. A job that comes to an idle batcher does not wait.
 *
 * Clients take turns: a batch takes one job of each client before it takes a second one of any. The jobs of one client
 * stay in their order.
 */
export class Batcher<Job, Result> {
  private readonly queues = new Map<unknown, Entry<Job, Result>[]>();
  private running = 0;
  private isImminent = false;
  private timer: NodeJS.Timeout | undefined;
  private lastBegin = -Infinity;
  private onIdle: (() => void)[] = [];

  constructor(private readonly options: BatcherOptions<Job, Result>) {}

  /** @param client whatever tells clients apart; jobs without one share a turn */
  add(job: Job, weight = 1, client?: unknown): Promise<Result> {
    return new Promise((resolve, reject) => {
      const entry = { job, weight, resolve, reject };
      const queue = this.queues.get(client);
      if (queue) queue.push(entry);
      else this.queues.set(client, [entry]);
      this.schedule();
    });
  }

  /** Resolves once no job is queued or in progress. */
  idle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.onIdle.push(resolve));
  }

  private get isIdle(): boolean {
    return this.queues.size === 0 && this.running === 0;
  }

  private schedule(): void {
    const { concurrency, windowMs } = this.options;
    if (this.isImminent || this.queues.size === 0 || this.running >= concurrency) return;
    const isFirst = this.running === 0 && concurrency > 1;
    const wait = isFirst ? 0 : this.lastBegin + windowMs - performance.now();
    if (wait > 0) {
      this.timer ??= setTimeout(() => this.begin(), Math.ceil(wait));
      return;
    }
    clearTimeout(this.timer);
    this.isImminent = true;
    // Not a microtask: those run between two sockets' messages, an immediate after all messages of the turn.
    setImmediate(() => this.begin());
  }

  private begin(): void {
    this.timer = undefined;
    this.isImminent = false;
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
        if (this.isIdle) for (const done of this.onIdle.splice(0)) done();
      });
    this.schedule();
  }

  private take(): Entry<Job, Result>[] {
    const batch: Entry<Job, Result>[] = [];
    let weight = 0;
    // A map iterates in the order of insertion, and reaches what is inserted meanwhile: each client goes to the end.
    for (const [client, queue] of this.queues) {
      const entry = queue.shift()!;
      batch.push(entry);
      weight += entry.weight;
      this.queues.delete(client);
      if (queue.length > 0) this.queues.set(client, queue);
      if (weight >= this.options.maxWeight) break;
    }
    return batch;
  }
}
