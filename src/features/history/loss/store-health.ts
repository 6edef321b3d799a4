import { CheckedOutage, Outage } from '../../../base/outage.js';
import { own } from '../../../base/owner.js';
import type { ProblemCode, Reason } from '../../../base/problems.js';
import { brokerCause } from '../../../cluster/backplanes/broker-cause.js';
import { HistoryError, type HistoryStore } from '../store.js';
import { LossWatch } from './watch.js';

/** What users wait for. */
export type HistoryCall = 'append' | 'read';

/** The outages of the store: messages that cannot be stored, or only cannot be read. */
class HistoryOutages {
  readonly storing: CheckedOutage;
  private readonly reading: CheckedOutage;
  /** The conversation of the latest failure. On a cluster, others may be on nodes that work. */
  private conversation = '/';

  /**
   * @param name what the operator knows the store by: `Redis` or `DATA_DIR`
   * @param what what is stored, in the words of the problem
   */
  constructor(store: HistoryStore, name: string, what: string) {
    const reason = (error: unknown, code: ProblemCode, fault: string, effect: string): Reason => {
      const cause = causeOf(error) ?? { code: name === 'Redis' ? code : 'STORE_FAILS', text: `${name} ${fault}` };
      return { code: cause.code, text: `${cause.text}: ${effect}` };
    };
    this.storing = new CheckedOutage({
      reasonFor: (error) =>
        isRejected(error)
          ? reason(error, 'REDIS_WRITES_REJECTED', 'rejects writes', `${what} cannot be stored`)
          : reason(error, 'REDIS_UNREACHABLE', 'is unreachable', `${what} cannot be stored or read`),
      check: () => store.check(this.conversation),
    });
    this.reading = new CheckedOutage({
      reasonFor: (error) =>
        isRejected(error)
          ? reason(error, 'REDIS_READS_REJECTED', 'cannot be read', 'clients get no history')
          : reason(error, 'REDIS_UNREACHABLE', 'is unreachable', 'clients get no history'),
      check: () => store.head(this.conversation),
    });
  }

  get isInProgress(): boolean {
    return this.storing.isInProgress || this.reading.isInProgress;
  }

  failed(call: HistoryCall, conversation: string, error: HistoryError): void {
    // While nothing can be stored, reads usually fail for the same reason.
    if (call === 'read' && this.storing.isInProgress) return;
    this.conversation = conversation;
    const outage = call === 'append' ? this.storing : this.reading;
    outage.failed(error);
  }

  close(): void {
    this.storing.close();
    this.reading.close();
  }
}

/** Whether only writes fail. A Redis that has become a replica can be read. */
function isRejected(error: unknown): boolean {
  if (!(error instanceof HistoryError)) return false;
  return error.code === 'HISTORY_REFUSED' || (error.cause instanceof Error && error.cause.message.includes('READONLY'));
}

/** What Redis has said, if the operator must change something for it. */
function causeOf(error: unknown): Reason | undefined {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error ? brokerCause(cause.message) : undefined;
}

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
    this.loss = new LossWatch({ name, notices: store.lossNotices });
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
