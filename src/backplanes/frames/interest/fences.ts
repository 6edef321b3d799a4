/** How long an answer is waited for, in ms. */
const TIMEOUT_MS = 1000;

interface Fence {
  readonly missing: Set<string>;
  end(): void;
}

/** Numbered questions to other workers whether they have handled everything that was sent to them before. */
export class Fences {
  private readonly open = new Map<number, Fence>();
  private last = 0;
  private planned: Promise<void> | undefined;

  /** @param ping sends a number to a worker, which answers with the same number */
  constructor(private readonly ping: (number: number, worker: string) => void) {}

  /** Sends a ping to the workers. Returns its number. */
  start(workers: Iterable<string>): number {
    this.last = (this.last + 1) & 0x7fffffff;
    for (const worker of workers) this.ping(this.last, worker);
    return this.last;
  }

  /** Resolves when all these workers have answered. All calls of one tick share a ping. */
  pass(workers: Iterable<string>): Promise<void> {
    this.planned ??= new Promise((resolve) => {
      process.nextTick(() => {
        this.planned = undefined;
        this.openFence(new Set(workers), resolve);
      });
    });
    return this.planned;
  }

  answered(worker: string, number: number): void {
    const fence = this.open.get(number);
    if (fence?.missing.delete(worker) && fence.missing.size === 0) fence.end();
  }

  /** A worker that is gone does not answer. */
  leave(worker: string): void {
    for (const fence of this.open.values()) if (fence.missing.delete(worker) && fence.missing.size === 0) fence.end();
  }

  close(): void {
    for (const fence of [...this.open.values()]) fence.end();
  }

  private openFence(missing: Set<string>, resolve: () => void): void {
    if (missing.size === 0) return resolve();
    const number = this.start([]);
    const timer = setTimeout(() => this.open.get(number)?.end(), TIMEOUT_MS).unref();
    this.open.set(number, {
      missing,
      end: () => {
        clearTimeout(timer);
        this.open.delete(number);
        resolve();
      },
    });
    for (const worker of missing) this.ping(number, worker);
  }
}
