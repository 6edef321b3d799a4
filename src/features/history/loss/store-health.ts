import { Histogram, type Readings } from '../../../base/figures.js';
import { CheckedOutage, Outage, type OutageOptions } from '../../../base/outage.js';
import { own } from '../../../base/owner.js';
import type { ProblemCode, Reason } from '../../../base/problems.js';
import { brokerCause } from '../../../cluster/backplanes/broker-cause.js';
import { type HistoryCall, HistoryError, type HistoryErrorCode, type HistoryStore } from '../store.js';
import { LossWatch } from './watch.js';

/** The bounds of the histogram, in seconds. */
const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** Tells the operator what a store cannot do, has lost, or may lose, and how long users wait for it. */
export class StoreHealth {
  readonly loss: LossWatch;
  /** Whether the store could be reached at some time since the start. */
  isReady = false;
  /** Messages cannot be stored. */
  private readonly storing: CheckedOutage;
  /** They can only not be read. */
  private readonly reading: CheckedOutage;
  private readonly risk: Outage;
  /** The conversation of the latest failure. On a cluster, others may be on nodes that work. */
  private conversation = '/';
  /** From the start on: a rate does not see the first value of a series. */
  private readonly failures: Record<HistoryErrorCode, number> = {
    HISTORY_UNAVAILABLE: 0,
    HISTORY_REFUSED: 0,
    HISTORY_UNCERTAIN: 0,
  };
  private readonly trimmed = { age: 0, size: 0 };
  private readonly seconds = new Histogram(BUCKETS, ['append', 'read']);

  /**
   * @param name what the operator knows the store by: `Redis` or `DATA_DIR`
   * @param what what it keeps, in the words of its problems
   * @param reports where it tells them. @default those of the process
   */
  constructor(
    readonly store: HistoryStore,
    private readonly name: string,
    what = 'messages',
    reports?: OutageOptions['reports'],
  ) {
    this.risk = new Outage({ reports });
    this.storing = new CheckedOutage({
      reports,
      reasonFor: (error) =>
        isRejected(error)
          ? this.reason(error, 'REDIS_WRITES_REJECTED', 'rejects writes', `${what} cannot be stored`)
          : this.reason(error, 'REDIS_UNREACHABLE', 'is unreachable', `${what} cannot be stored or read`),
      check: () => store.append(this.conversation, []),
    });
    this.reading = new CheckedOutage({
      reports,
      reasonFor: (error) =>
        isRejected(error)
          ? this.reason(error, 'REDIS_READS_REJECTED', 'cannot be read', 'clients get no history')
          : this.reason(error, 'REDIS_UNREACHABLE', 'is unreachable', 'clients get no history'),
      check: () => store.head(this.conversation),
    });
    this.loss = new LossWatch({ name, notices: store.lossNotices, reports });
    store.listen({
      onReady: () => {
        this.isReady = true;
        if (this.storing.isInProgress) own('checking the store', this.storing.check());
      },
      onDown: (error) => this.storing.failed(new HistoryError('HISTORY_UNAVAILABLE', error)),
      onLost: () => this.loss.report(),
      onRisk: (text) => (text === undefined ? this.risk.end() : this.risk.begin({ code: 'REDIS_EVICTS', text })),
      onCall: (call, conversation, ms, error) => {
        this.seconds.observe(call, ms / 1000);
        if (error) this.failed(call, conversation, error);
      },
      onTrimmed: (count) => {
        this.trimmed.size += count;
      },
    });
  }

  readonly readings = (): Readings => ({
    gjallar_history_seconds: this.seconds.read(),
    gjallar_history_failures_total: Object.entries(this.failures),
    gjallar_history_trimmed_total: Object.entries(this.trimmed),
    gjallar_history_bytes: this.store.bytes,
  });

  /** Trims the store. All workers share it, so one of them is enough. */
  async trim(now: number): Promise<void> {
    this.trimmed.age += await this.store.trim(now);
  }

  get isFailing(): boolean {
    return this.storing.isInProgress || this.reading.isInProgress;
  }

  close(): void {
    for (const part of [this.storing, this.reading, this.loss, this.risk]) part.close();
  }

  private failed(call: HistoryCall, conversation: string, error: HistoryError): void {
    this.failures[error.code]++;
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
