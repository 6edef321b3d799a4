/** A question to other servers that is answered by each of them once. */
export class Question {
  private readonly missing: Set<string>;
  private readonly answers: unknown[] = [];
  private readonly timer: NodeJS.Timeout;

  /**
   * @param servers those that are asked
   * @param onEnd called once all have answered or are gone, or after the timeout with an error and the answers until then
   */
  constructor(
    servers: Iterable<string>,
    timeoutMs: number,
    private readonly onEnd: (error: Error | null, answers: unknown[]) => void,
  ) {
    this.missing = new Set(servers);
    this.timer = setTimeout(() => {
      onEnd(new Error(`timeout reached: missing ${this.missing.size} responses`), this.answers);
    }, timeoutMs);
  }

  answered(server: string, answer: unknown): void {
    if (!this.missing.has(server)) return;
    this.answers.push(answer);
    this.gone(server);
  }

  gone(server: string): void {
    if (!this.missing.delete(server) || this.missing.size > 0) return;
    clearTimeout(this.timer);
    this.onEnd(null, this.answers);
  }
}

/** What other servers report about a broadcast of this one that waits for the acknowledgements of clients. */
export class OthersAnswers {
  /** The servers that have not reported the number of their clients, with the number of answers that came from them. */
  private readonly waiting: Map<string, number>;

  /**
   * @param servers those that get the broadcast
   * @param onCount called once for each server, with the number of clients whose answers count
   */
  constructor(
    servers: Iterable<string>,
    private readonly onCount: (clients: number) => void,
    private readonly onAnswer: (value: unknown) => void,
  ) {
    this.waiting = new Map(Array.from(servers, (server) => [server, 0]));
  }

  answered(server: string, value: unknown): void {
    const before = this.waiting.get(server);
    if (before !== undefined) this.waiting.set(server, before + 1);
    this.onAnswer(value);
  }

  counted(server: string, clients: number): void {
    if (this.waiting.delete(server)) this.onCount(clients);
  }

  /** The server is gone: the broadcast does not wait for its clients. */
  gone(server: string): void {
    this.counted(server, this.waiting.get(server) ?? 0);
  }
}
