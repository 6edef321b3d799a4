import { featureFigures } from '../../../base/figures.js';
import { StoreHealth } from '../loss/store-health.js';
import { MeasuredHistory } from '../metrics.js';
import { RedisHistoryStore } from '../redis/store.js';
import { SqliteHistoryStore } from '../sqlite/store.js';
import type { HistoryStore } from '../store.js';

/** Watches the store of durable rooms, and tells the operator when it fails, or has lost messages. */
export class DurableHealth extends StoreHealth {
  /** The store, watched. */
  readonly store: HistoryStore;
  private readonly uncount = featureFigures.add(() => ({ gjallar_durable_up: this.outages.isInProgress ? 0 : 1 }));

  constructor(store: HistoryStore) {
    super(store, nameOf(store), 'messages of durable rooms');
    this.store = new MeasuredHistory(store, {
      isTrimmer: () => false,
      onFailure: (...what) => this.outages.failed(...what),
    });
  }

  override close(): void {
    this.uncount();
    super.close();
  }
}

function nameOf(store: HistoryStore): string {
  if (store instanceof RedisHistoryStore) return 'Redis';
  return store instanceof SqliteHistoryStore ? 'The file of durable rooms' : 'The store of durable rooms';
}
