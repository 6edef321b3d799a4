/** What other workers report about a broadcast of this one that waits for the acknowledgements of clients. */
export class OthersAnswers {
  /** The workers that have not reported the number of their clients, with the number of answers that came from them. */
  private readonly waiting: Map<string, number>;

  /**
   * @param workers those that get the broadcast
   * @param onCount called once for each worker, with the number of clients whose answers count
   */
  constructor(
    workers: Iterable<string>,
    private readonly onCount: (clients: number) => void,
    private readonly onAnswer: (value: unknown) => void,
  ) {
    this.waiting = new Map(Array.from(workers, (worker) => [worker, 0]));
  }

  answered(worker: string, value: unknown): void {
    const before = this.waiting.get(worker);
    if (before !== undefined) this.waiting.set(worker, before + 1);
    this.onAnswer(value);
  }

  counted(worker: string, clients: number): void {
    if (this.waiting.delete(worker)) this.onCount(clients);
  }

  /** The worker is gone: nobody waits for its clients. */
  gone(worker: string): void {
    this.counted(worker, this.waiting.get(worker) ?? 0);
  }
}
