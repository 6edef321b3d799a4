import { own } from '../../base/owner.js';
import type { ConnectionHealth } from '../connection-health.js';
import type { PubSubListener } from '../frames/machines/pub-sub.js';

/** Keeps the listener of a pub/sub, and tells it whenever all connections and subscriptions are there, for the first time or again, or are lost. */
export class Renewal {
  listener: PubSubListener | undefined;
  /** The present connections and subscriptions, from the moment that all of them are there. */
  private current: { isDone: boolean } | undefined;
  /** How many restarts wait. */
  private waiting = 0;

  /** @param onDone called when {@link isDone} may have changed */
  constructor(
    private readonly health: ConnectionHealth,
    private readonly onDone: () => void,
  ) {}

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
      own('finding the servers behind Redis', this.begin(begun));
    }
    return this.current?.isDone === true;
  }

  private async begin(begun: { isDone: boolean }): Promise<void> {
    if (!this.listener) return;
    await this.listener.onRenewed();
    begun.isDone = true;
    this.onDone();
  }

  /**
   * Messages may have been lost: the connections count as lost until the promise has resolved.
   * @param reason what happened, if they have been there until now
   */
  async restart(reason: string, confirmed: Promise<unknown>): Promise<void> {
    if (this.health.isUp) this.health.reason = reason;
    this.waiting++;
    this.onDone();
    await confirmed;
    this.waiting--;
    this.onDone();
  }
}
