interface Request {
  /** The workers that have not answered. */
  readonly missing: Set<number>;
  readonly onNone: (() => void) | undefined;
}

/** Numbered questions to the other workers of this machine whether they have a session. */
export class Requests {
  private readonly open = new Map<number, Request>();
  private last = 0;

  /** @param maxWaitMs how long answers are waited for */
  constructor(private readonly maxWaitMs: number) {}

  /**
   * @param onNone called when all of them have answered that they do not have it
   * @returns the number of the question
   */
  start(workers: readonly number[], onNone: (() => void) | undefined): number {
    const request = ++this.last;
    if (workers.length > 0) {
      this.open.set(request, { missing: new Set(workers), onNone });
      setTimeout(() => this.open.delete(request), this.maxWaitMs).unref();
    }
    return request;
  }

  /** The worker does not have the session. One that has it sends it. */
  answered(worker: number, request: number): void {
    const { missing, onNone } = this.open.get(request) ?? {};
    missing?.delete(worker);
    if (missing?.size !== 0) return;
    this.open.delete(request);
    onNone?.();
  }

  /** A worker that is gone has nothing. */
  leave(worker: number): void {
    for (const request of [...this.open.keys()]) this.answered(worker, request);
  }
}
