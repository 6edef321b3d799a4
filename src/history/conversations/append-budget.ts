import { GjallarError } from '../../errors.js';

export interface BudgetLimits {
  perClient: number;
  total: number;
}

/** In bytes of messages that wait for the history on this worker. */
const LIMITS: BudgetLimits = { perClient: 1 << 20, total: 32 << 20 };

/** Bounds the messages that wait for the history to keep them, for each client and in all. */
export class AppendBudget {
  private readonly byClient = new Map<unknown, number>();
  private total = 0;

  constructor(private readonly limits = LIMITS) {}

  /**
   * Reserves bytes until the returned function is called. A client that has nothing waiting may exceed its own limit,
   * so that any single request fits.
   * @throws GjallarError OVERLOADED
   */
  reserve(client: unknown, bytes: number): () => void {
    const { perClient, total } = this.limits;
    const waiting = this.byClient.get(client) ?? 0;
    const isFull = (waiting > 0 && waiting + bytes > perClient) || (this.total > 0 && this.total + bytes > total);
    if (isFull) throw new GjallarError('OVERLOADED');
    this.byClient.set(client, waiting + bytes);
    this.total += bytes;
    return () => {
      this.total -= bytes;
      const left = this.byClient.get(client)! - bytes;
      if (left > 0) this.byClient.set(client, left);
      else this.byClient.delete(client);
    };
  }
}
