import type { PubSubListener } from '../frames/machines/pub-sub.js';

/** Tells a listener whenever all connections and subscriptions are there, for the first time or again, or are lost. */
export class Renewal {
  listener: Pick<PubSubListener, 'onRenewed' | 'onLost'> | undefined;
  /** The present connections and subscriptions, from the moment that all of them are there. */
  private current: { isDone: boolean } | undefined;
  /** How many restarts wait. */
  private waiting = 0;

  /** @param onDone called when {@link isDone} may have changed */
  constructor(private readonly onDone: () => void) {}

  /**
   * Whether the listener has finished.
   * @param isConnected whether all connections and subscriptions are there
   */
  isDone(isConnected: boolean): boolean {
    if (!isConnected || this.waiting > 0) {
      const wasThere = this.current !== undefined;
      this.current = undefined;
      if (wasThere) this.listener?.onLost();
    } else if (!this.current) {
      const begun = { isDone: false };
      this.current = begun;
      void this.listener?.onRenewed().then(() => {
        begun.isDone = true;
        this.onDone();
      });
    }
    return this.current?.isDone === true;
  }

  /** Messages may have been lost: the connections count as lost until the promise has resolved. */
  async restart(confirmed: Promise<unknown>): Promise<void> {
    this.waiting++;
    this.onDone();
    await confirmed;
    this.waiting--;
    this.onDone();
  }
}
