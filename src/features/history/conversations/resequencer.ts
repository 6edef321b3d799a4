import { continueLog, type Finding, type Reader, remember } from '../loss/continuation.js';
import type { HistoryStore, Page, Position, StoredMessage } from '../store.js';

/** How long a message waits for those before it before the history is read. Usually they arrive within that time. */
const MAX_GAP_WAIT_MS = 50;
/** How long until an unreachable history is read again. */
const RETRY_MS = 500;
const PAGE_SIZE = 500;
/** How many messages wait for others, or for the history. What exceeds that is read from the history. */
const MAX_WAITING = 1000;
/** How many new epochs one catch-up follows before it pauses. */
const MAX_EPOCHS = 4;
/** By how much a message may have overtaken those before it on its way to this worker, in ms and in messages. */
const MAX_OVERTAKEN_MS = 1000;
const MAX_OVERTAKEN = 100;
/** How often the history is read for messages of an epoch that it does not know: a replica may be late. */
const MAX_ATTEMPTS = 20;

/**
 * One conversation as this worker's members receive it: each message once, in the order of the offsets, whichever worker
 * and machine posted it and in whatever order the bus brings it. What the bus has lost is read from the history. Where the
 * history has lost something, {@link continueLog} decides which message is the next one.
 */
export class Resequencer {
  private epoch: string | undefined;
  private delivered = 0;
  private earlier: readonly Position[] = [];
  private readonly waiting = new Map<number, StoredMessage>();
  /** Messages of other epochs. Which of them is newer only the history knows. */
  private foreign: StoredMessage[] = [];
  private attempts = 0;
  private reading: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** Whether it has ended, and delivers nothing more. */
  isClosed = false;
  /** When the last message was delivered, in ms since 1970. */
  lastUsed = Date.now();

  /**
   * @param onNewEpoch told how a new epoch of the log goes together with what was delivered, and when the last message of
   *   the former one was
   */
  constructor(
    private readonly key: string,
    private readonly store: HistoryStore,
    private readonly deliver: (message: StoredMessage) => void,
    private readonly onNewEpoch: (finding: Finding, lastUsed: number) => void = () => {},
  ) {}

  get isStarted(): boolean {
    return this.epoch !== undefined;
  }

  /** The last message that was delivered: everything after it will be. */
  get position(): Position {
    return { epoch: this.epoch ?? '', offset: this.delivered };
  }

  /**
   * Starts behind the newest message of the history.
   * @param withAnnounced whether to start with the first message that has arrived meanwhile, if it is older
   */
  start(withAnnounced = false): Promise<void> {
    this.reading = this.store
      .head(this.key)
      .then(({ epoch, offset }) => {
        const announced = withAnnounced ? this.foreign.filter((message) => message.epoch === epoch) : [];
        this.startAfter(epoch, Math.min(offset, ...announced.map((message) => message.offset - 1)));
      })
      .finally(() => {
        this.reading = undefined;
      });
    return this.reading.then(() => this.drain());
  }

  /** Starts behind a known position. */
  startAfter(epoch: string, offset: number): void {
    this.epoch = epoch;
    this.delivered = offset;
    this.adopt(this.foreign.splice(0), true);
  }

  /**
   * Starts with the oldest message that arrived, or with `first` if none did, and with those that it has overtaken: they
   * were stored right before it.
   */
  startFrom(first: Position): void {
    if (this.isClosed || this.reading || this.epoch !== undefined) return;
    const arrived = this.foreign.filter(({ epoch }) => epoch === first.epoch);
    const oldest = Math.min(first.offset, ...arrived.map(({ offset }) => offset));
    this.reading = this.overtakenBy({ ...first, offset: oldest }, Math.min(...arrived.map(({ at }) => at)))
      .catch(() => 0)
      .then((overtaken) => {
        this.reading = undefined;
        if (this.isClosed) return;
        this.startAfter(first.epoch, oldest - 1 - overtaken);
        if (overtaken === 0 && this.waiting.size > 0) this.drain();
        else this.catchUp();
      });
  }

  /** How many messages this one, which was sent at this time, has overtaken. */
  private async overtakenBy({ epoch, offset }: Position, at: number): Promise<number> {
    const page = await this.store.read(this.key, { epoch, before: offset, limit: MAX_OVERTAKEN });
    if (page.epoch !== epoch) return 0;
    const old = page.messages.findLastIndex((message) => message.at < at - MAX_OVERTAKEN_MS);
    const first = page.messages[old + 1];
    return first ? offset - first.offset : 0;
  }

  /** Takes a message as the bus brings it. */
  receive(message: StoredMessage): void {
    if (message.epoch === this.epoch) {
      if (message.offset <= this.delivered || this.waiting.size >= MAX_WAITING) return;
      this.waiting.set(message.offset, message);
    } else if (this.foreign.length < MAX_WAITING) {
      this.foreign.push(message);
    }
    if (this.epoch !== undefined && !this.reading) this.drain();
  }

  /** Takes the newest position that another worker knows, without the messages. */
  receivePosition({ epoch, offset }: Position): void {
    const isBehind = this.epoch !== undefined && (epoch !== this.epoch || offset > this.delivered);
    if (isBehind) this.scheduleCatchUp(MAX_GAP_WAIT_MS);
  }

  /** Reads what is missing from the history now. */
  catchUp(): void {
    if (this.isClosed || this.reading || this.epoch === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.reading = this.read()
      .catch(() => this.scheduleCatchUp(RETRY_MS))
      .finally(() => {
        this.reading = undefined;
        this.drain();
      });
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.waiting.clear();
    this.foreign = [];
  }

  /** Delivers the messages that are next in order, and schedules a read if some before them are missing. */
  private drain(): void {
    if (this.isClosed) return;
    for (;;) {
      const next = this.waiting.get(this.delivered + 1);
      if (!next) break;
      this.waiting.delete(next.offset);
      this.pass(next);
    }
    if (this.waiting.size > 0 || this.foreign.length > 0) this.scheduleCatchUp(MAX_GAP_WAIT_MS);
  }

  private scheduleCatchUp(delayMs: number): void {
    if (this.isClosed) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.catchUp();
    }, delayMs);
  }

  private async read(): Promise<void> {
    for (let epochs = 0; epochs < MAX_EPOCHS; ) {
      // A page is newer than these, and older than those that arrive while it is read.
      const before = this.foreign;
      this.foreign = [];
      const page = await this.readPage().catch((error: unknown) => {
        this.foreign = [...before, ...this.foreign];
        throw error;
      });
      if (this.isClosed) return;
      if (page.epoch !== this.epoch) {
        this.enter(page, before);
        epochs++;
      } else if (this.take(page)) {
        return this.retryFor(before);
      }
    }
    this.scheduleCatchUp(RETRY_MS);
  }

  /** Keeps messages of epochs that neither the history nor this worker knows, for another read. */
  private retryFor(announced: readonly StoredMessage[]): void {
    const known = new Set([this.epoch, ...this.earlier.map(({ epoch }) => epoch)]);
    const unknown = announced.filter(({ epoch }) => !known.has(epoch));
    const retries = unknown.length > 0 && this.attempts < MAX_ATTEMPTS;
    this.attempts = retries ? this.attempts + 1 : 0;
    if (!retries) return;
    this.foreign.unshift(...unknown);
    this.scheduleCatchUp(RETRY_MS);
  }

  private readPage(): Promise<Page> {
    return this.store.read(this.key, { epoch: this.epoch!, after: this.delivered, limit: PAGE_SIZE });
  }

  /** Goes on in a new epoch, behind what it shares with the former one. */
  private enter({ epoch, offset, former = [] }: Page, announced: readonly StoredMessage[]): void {
    const { finding, after } = continueLog(this.reader, { epoch, offset, former, next: undefined }, announced);
    this.earlier = remember(this.reader, former, after);
    this.epoch = epoch;
    this.delivered = after;
    this.waiting.clear();
    this.adopt(announced);
    this.onNewEpoch(finding, this.lastUsed);
  }

  /** Takes a page of the present epoch. Returns whether it is the last one. */
  private take(page: Page): boolean {
    const fresh = page.messages.filter(({ offset }) => offset > this.delivered);
    const { after } = continueLog(this.reader, { ...page, next: fresh[0]?.offset });
    this.delivered = after;
    for (const message of fresh) this.pass(message);
    for (const offset of this.waiting.keys()) if (offset <= this.delivered) this.waiting.delete(offset);
    return this.delivered >= page.offset;
  }

  /** Keeps the messages of the present epoch, and drops those of others. */
  private adopt(messages: readonly StoredMessage[], keepsOthers = false): void {
    for (const message of messages) {
      if (message.epoch !== this.epoch) {
        if (keepsOthers) this.foreign.push(message);
      } else if (message.offset > this.delivered) {
        this.waiting.set(message.offset, message);
      }
    }
  }

  private get reader(): Reader {
    return { epoch: this.epoch!, offset: this.delivered, earlier: this.earlier };
  }

  private pass(message: StoredMessage): void {
    this.delivered = message.offset;
    this.lastUsed = Date.now();
    this.deliver(message);
  }
}
