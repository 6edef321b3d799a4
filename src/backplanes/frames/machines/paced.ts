/** At least this time is between two calls for one worker, in ms. */
const INTERVAL_MS = 1000;

/** Calls a function for each worker at once, and again at most once a second, however often it is asked to. */
export class Paced {
  private readonly waiting = new Map<string, { isAgain: boolean; timer: NodeJS.Timeout }>();

  constructor(private readonly act: (worker: string) => void) {}

  run(worker: string): void {
    const waiting = this.waiting.get(worker);
    if (waiting) {
      waiting.isAgain = true;
      return;
    }
    const timer = setTimeout(() => {
      const isAgain = this.waiting.get(worker)?.isAgain;
      this.waiting.delete(worker);
      if (isAgain) this.run(worker);
    }, INTERVAL_MS).unref();
    this.waiting.set(worker, { isAgain: false, timer });
    this.act(worker);
  }

  /** The worker is gone. */
  forget(worker: string): void {
    clearTimeout(this.waiting.get(worker)?.timer);
    this.waiting.delete(worker);
  }

  close(): void {
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
    this.waiting.clear();
  }
}
