import { type DurableFigures, durableStores } from '../../../io/rooms/stores.js';
import { StoreHealth } from '../loss/store-health.js';
import { MeasuredHistory } from '../metrics.js';
import { RedisHistoryStore } from '../redis/store.js';
import { SqliteHistoryStore } from '../sqlite/store.js';
import type { HistoryStore } from '../store.js';

/** Watches the store of durable rooms, and tells the operator when it fails, or has lost messages. */
export class DurableHealth extends StoreHealth {
  /** The store, watched. */
  readonly store: HistoryStore;
  private readonly counts = { failures: 0, outages: 0 };

  constructor(store: HistoryStore) {
    super(store, nameOf(store), 'messages of durable rooms');
    this.store = new MeasuredHistory(store, {
      isTrimmer: () => false,
      onFailure: (...what) => {
        this.counts.failures++;
        if (!this.outages.isInProgress) this.counts.outages++;
        this.outages.failed(...what);
      },
    });
    durableStores.add(this);
  }

  get figures(): DurableFigures {
    return { up: this.outages.isInProgress ? 0 : 1, ...this.counts };
  }

  override close(): void {
    durableStores.remove(this);
    super.close();
  }
}

function nameOf(store: HistoryStore): string {
  if (store instanceof RedisHistoryStore) return 'Redis';
  return store instanceof SqliteHistoryStore ? 'The file of durable rooms' : 'The store of durable rooms';
}
