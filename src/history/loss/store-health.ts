import { Outage } from '../../base/outage.js';
import { own } from '../../base/owner.js';
import { HistoryError } from '../errors.js';
import { HistoryOutages } from '../outages.js';
import type { HistoryStore } from '../store.js';
import { MemoryLossNotices } from './notices.js';
import { LossWatch } from './watch.js';

/** Tells the operator what a store cannot do, has lost, or may lose. */
export class StoreHealth {
  readonly outages: HistoryOutages;
  readonly loss: LossWatch;
  /** Whether the store could be reached at some time since the start. */
  isReady: boolean;
  private readonly risk = new Outage();

  /**
   * @param name what the operator knows the store by, such as `Redis`
   * @param what what is stored, in the words of the problem
   */
  constructor(store: HistoryStore, name: string, what = 'messages') {
    this.outages = new HistoryOutages(store, name, what);
    this.loss = new LossWatch({ name, notices: store.lossNotices ?? new MemoryLossNotices() });
    const { storing } = this.outages;
    this.isReady = store.isReady ?? true;
    store.listen?.({
      onReady: () => {
        this.isReady = true;
        if (storing.isInProgress) own('checking the store', storing.check());
      },
      onDown: (error) => storing.failed(new HistoryError('HISTORY_UNAVAILABLE', error)),
      onLost: () => this.loss.report(),
      onRisk: (text) => (text === undefined ? this.risk.end() : this.risk.begin({ code: 'REDIS_EVICTS', text })),
    });
  }

  close(): void {
    this.outages.close();
    this.loss.close();
    this.risk.close();
  }
}
