import { type DurableFigures, durableStores } from '../../rooms/stores.js';
import { HistoryError } from '../errors.js';
import { MeasuredHistory } from '../metrics.js';
import type { OutageReports } from '../outage.js';
import { HistoryOutages } from '../outages.js';
import { RedisHistoryStore } from '../redis/store.js';
import { SqliteHistoryStore } from '../sqlite/store.js';
import type { HistoryStore } from '../store.js';

const LOST = 'the store of durable rooms has lost messages that it had confirmed';

const nowhere: OutageReports = { log: { error: () => {}, info: () => {} }, problems: new Set() };

/** Watches the store of durable rooms, and tells the operator when it fails, or has lost messages. */
export class DurableHealth {
  /** The store, watched. */
  readonly store: HistoryStore;
  private readonly outages: HistoryOutages;
  private readonly counts = { failures: 0, outages: 0, losses: 0 };

  constructor(store: HistoryStore) {
    const reports = durableStores.host ?? nowhere;
    const explain = (error: HistoryError) => {
      const why = store instanceof RedisHistoryStore ? store.whyDown : undefined;
      return why ? new HistoryError('HISTORY_UNAVAILABLE', why) : error;
    };
    this.outages = new HistoryOutages(store, nameOf(store), reports, explain, 'messages of durable rooms');
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

  /** A room began again without messages that this worker had delivered. */
  readonly onLost = (): void => {
    this.counts.losses++;
    durableStores.host?.onLost(LOST);
  };

  close(): void {
    durableStores.remove(this);
    this.outages.close();
  }
}

function nameOf(store: HistoryStore): string {
  if (store instanceof RedisHistoryStore) return 'Redis';
  return store instanceof SqliteHistoryStore ? 'The file of durable rooms' : 'The store of durable rooms';
}
