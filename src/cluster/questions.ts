interface Round {
  readonly answers: Map<number, unknown>;
  readonly waitingFor: Set<number>;
  done(): void;
}

/** Questions to several workers that some of them have not answered yet. */
export class Questions {
  private readonly rounds = new Map<number, Round>();
  private lastId = 0;

  /**
   * Asks workers. Resolves when all have answered or are gone, or when the time is up. The value is undefined for a worker
   * that has not answered.
   * @param timeoutMs how long the workers may take
   * @param send asks one worker; `id` is a number below 2^32
   */
  ask(
    workers: readonly number[],
    timeoutMs: number,
    send: (worker: number, id: number) => void,
  ): Promise<Map<number, unknown>> {
    this.lastId = (this.lastId + 1) >>> 0;
    const id = this.lastId;
    return new Promise((resolve) => {
      const answers = new Map<number, unknown>(workers.map((worker) => [worker, undefined]));
      const timer = setTimeout(() => this.rounds.get(id)?.done(), timeoutMs);
      const done = () => {
        clearTimeout(timer);
        this.rounds.delete(id);
        resolve(answers);
      };
      this.rounds.set(id, { answers, waitingFor: new Set(workers), done });
      for (const worker of workers) send(worker, id);
      if (workers.length === 0) done();
    });
  }

  answered(worker: number, id: number, answer: unknown): void {
    const round = this.rounds.get(id);
    if (!round?.waitingFor.delete(worker)) return;
    round.answers.set(worker, answer);
    if (round.waitingFor.size === 0) round.done();
  }

  /** A worker has ended. */
  gone(worker: number): void {
    for (const { waitingFor, done } of [...this.rounds.values()]) {
      if (waitingFor.delete(worker) && waitingFor.size === 0) done();
    }
  }
}
