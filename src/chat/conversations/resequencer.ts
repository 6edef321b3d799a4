import type { HistoryStore, Position, StoredMessage } from '../../history/store.js';

/** How long a message waits for those before it before the history is read. Usually they arrive within that time. */
const MAX_GAP_WAIT_MS = 50;
/** How long until an unreachable history is read again. */
const RETRY_MS = 500;
const PAGE_SIZE = 500;

/**
 * One conversation as this worker's members receive it: each message once, in the order of the offsets, whichever worker
 * and machine posted it and in whatever order the bus brings it. What the bus has lost is read from the history.
 */
export class Resequencer {
  private epoch: string | undefined;
  private delivered = 0;
  private readonly waiting = new Map<number, StoredMessage>();
  private reading: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;
  /** When the last message arrived, in ms since 1970. */
  lastUsed = Date.now();

  constructor(
    private readonly key: string,
    private readonly store: HistoryStore,
    private readonly deliver: (message: StoredMessage) => void,
  ) {}

  get isStarted(): boolean {
    return this.epoch !== undefined;
  }

  /** The last message that was delivered: everything after it will be. */
  get position(): Position {
    return { epoch: this.epoch ?? '', offset: this.delivered };
  }

  /** Starts behind the newest message of the history. */
  start(): Promise<void> {
    this.reading = this.store
      .head(this.key)
      .then(({ epoch, offset }) => this.startAfter(epoch, offset))
      .finally(() => {
        this.reading = undefined;
      });
    return this.reading.then(() => this.drain());
  }

  /** Starts behind a known position. */
  startAfter(epoch: string, offset: number): void {
    this.epoch = epoch;
    this.delivered = offset;
  }

  /** Starts with the oldest message that arrived, or with `first` if none did. */
  startFrom(first: Position): void {
    if (this.isClosed || this.epoch !== undefined) return;
    this.startAfter(first.epoch, Math.min(first.offset, ...this.waiting.keys()) - 1);
    if (this.waiting.size > 0) this.drain();
    else this.catchUp();
  }

  /** Takes a message as the bus brings it. */
  receive(message: StoredMessage): void {
    this.lastUsed = Date.now();
    if (message.epoch === this.epoch && message.offset <= this.delivered) return;
    this.waiting.set(message.offset, message);
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
  }

  /** Delivers the messages that are next in order, and schedules a read if some before them are missing. */
  private drain(): void {
    if (this.isClosed) return;
    for (const [offset, message] of this.waiting) {
      if (message.epoch === this.epoch && offset <= this.delivered) this.waiting.delete(offset);
    }
    for (;;) {
      const next = this.waiting.get(this.delivered + 1);
      if (!next || next.epoch !== this.epoch) break;
      this.waiting.delete(next.offset);
      this.pass(next);
    }
    if (this.waiting.size > 0) this.scheduleCatchUp(MAX_GAP_WAIT_MS);
  }

  private scheduleCatchUp(delayMs: number): void {
    if (this.isClosed) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.catchUp();
    }, delayMs);
  }

  private async read(): Promise<void> {
    for (;;) {
      const page = await this.store.read(this.key, { epoch: this.epoch, after: this.delivered, limit: PAGE_SIZE });
      if (this.isClosed) return;
      if (page.epoch !== this.epoch && page.messages[0]?.offset === 1) this.delivered = 0;
      this.epoch = page.epoch;
      for (const message of page.messages) if (message.offset > this.delivered) this.pass(message);
      // Messages of another epoch, or trimmed ones, can no longer become the next message.
      for (const [offset, message] of this.waiting) if (message.epoch !== page.epoch) this.waiting.delete(offset);
      if (this.delivered >= page.offset || page.messages.length === 0) return;
    }
  }

  private pass(message: StoredMessage): void {
    this.delivered = message.offset;
    this.deliver(message);
  }
}
