import { CheckedOutage, Outage } from '../../../base/outage.js';
import { own } from '../../../base/owner.js';
import type { ProblemCode, Reason } from '../../../base/problems.js';
import { brokerCause } from '../../../cluster/backplanes/broker-cause.js';
import { type HistoryCall, MeasuredHistory } from '../metrics.js';
import { HistoryError, type HistoryStore } from '../store.js';
import { LossWatch } from './watch.js';

/** What a store keeps, in the words of its problems, and how it is measured. */
interface StoreWords {
  /** @default 'messages' */
  readonly what?: string;
  /** @default never */
  readonly isTrimmer?: () => boolean;
}

/** Tells the operator what a store cannot do, has lost, or may lose. */
export class StoreHealth {
  /** The store, measured and watched. */
  readonly store: MeasuredHistory;
  readonly loss: LossWatch;
  /** Whether the store could be reached at some time since the start. */
  isReady: boolean;
  /** Messages cannot be stored. */
  private readonly storing: CheckedOutage;
  /** They can only not be read. */
  private readonly reading: CheckedOutage;
  private readonly risk = new Outage();
  /** The conversation of the latest failure. On a cluster, others may be on nodes that work. */
  private conversation = '/';

  /** @param name what the operator knows the store by: `Redis` or `DATA_DIR` */
  constructor(
    store: HistoryStore,
    private readonly name: string,
    { what = 'messages', isTrimmer = () => false }: StoreWords = {},
  ) {
    this.store = new MeasuredHistory(store, { isTrimmer, onFailure: (...failure) => this.failed(...failure) });
    this.storing = new CheckedOutage({
      reasonFor: (error) =>
        isRejected(error)
          ? this.reason(error, 'REDIS_WRITES_REJECTED', 'rejects writes', `${what} cannot be stored`)
          : this.reason(error, 'REDIS_UNREACHABLE', 'is unreachable', `${what} cannot be stored or read`),
      check: () => store.check(this.conversation),
    });
    this.reading = new CheckedOutage({
      reasonFor: (error) =>
        isRejected(error)
          ? this.reason(error, 'REDIS_READS_REJECTED', 'cannot be read', 'clients get no history')
          : this.reason(error, 'REDIS_UNREACHABLE', 'is unreachable', 'clients get no history'),
      check: () => store.head(this.conversation),
    });
    this.loss = new LossWatch({ name, notices: store.lossNotices });
    this.isReady = store.isReady ?? true;
    store.listen?.({
      onReady: () => {
        this.isReady = true;
        if (this.storing.isInProgress) own('checking the store', this.storing.check());
      },
      onDown: (error) => this.storing.failed(new HistoryError('HISTORY_UNAVAILABLE', error)),
      onLost: () => this.loss.report(),
      onRisk: (text) => (text === undefined ? this.risk.end() : this.risk.begin({ code: 'REDIS_EVICTS', text })),
    });
  }

  get isFailing(): boolean {
    return this.storing.isInProgress || this.reading.isInProgress;
  }

  close(): void {
    for (const part of [this.storing, this.reading, this.loss, this.risk]) part.close();
  }

  private failed(call: HistoryCall, conversation: string, error: HistoryError): void {
    // While nothing can be stored, reads usually fail for the same reason.
    if (call === 'read' && this.storing.isInProgress) return;
    this.conversation = conversation;
    const outage = call === 'append' ? this.storing : this.reading;
    outage.failed(error);
  }

  /** @param code what it is called if the store is a Redis that does not say why */
  private reason(error: unknown, code: ProblemCode, fault: string, effect: string): Reason {
    const { name } = this;
    const cause = causeOf(error) ?? { code: name === 'Redis' ? code : 'STORE_FAILS', text: `${name} ${fault}` };
    return { code: cause.code, text: `${cause.text}: ${effect}` };
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
