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
