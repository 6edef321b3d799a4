import type { HistoryStore, Position, StoredMessage } from '../history/store.js';

/** How long a message waits for those before it before they are looked up, in ms. They are usually just behind. */
const PATIENCE = 50;
/** How long until a history that could not be reached is tried again, in ms. */
const RETRY = 500;
const PAGE = 500;

/**
 * One conversation as this worker's members get it: each message once, in the order of the offsets, whichever worker
 * and machine it comes from and in whatever order the bus brings it. What the bus has lost comes from the history.
 */
export class Feed {
  private epoch: string | undefined;
  private delivered = 0;
  private readonly waiting = new Map<number, StoredMessage>();
  private reading: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;
  /** When something last happened, in ms since 1970. */
  lastUsed = Date.now();

  constructor(
    private readonly key: string,
    private readonly store: HistoryStore,
    private readonly deliver: (message: StoredMessage) => void,
  ) {}

  /** The last message that was delivered: everything after it will be. */
  get position(): Position {
    return { epoch: this.epoch ?? '', offset: this.delivered };
  }

  /** Starts at the newest message. */
  start(): Promise<void> {
    this.reading = this.store
      .head(this.key)
      .then(({ epoch, offset }) => this.startAt(epoch, offset))
      .finally(() => {
        this.reading = undefined;
      });
    return this.reading.then(() => this.drain());
  }

  /** Starts behind a position that is known already. */
  startAt(epoch: string, offset: number): void {
    this.epoch = epoch;
    this.delivered = offset;
  }

  /** Starts with the first message there is, or with `first` where none has come yet. */
  begin(first: Position): void {
    if (this.isClosed || this.epoch !== undefined) return;
    this.startAt(first.epoch, Math.min(first.offset, ...this.waiting.keys()) - 1);
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

  /** Learns how far the conversation has come, without the messages. */
  hear({ epoch, offset }: Position): void {
    if (this.epoch !== undefined && (epoch !== this.epoch || offset > this.delivered)) this.catchUpSoon(PATIENCE);
  }

  /** Looks the conversation up in the history now. */
  catchUp(): void {
    if (this.isClosed || this.reading || this.epoch === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.reading = this.read()
      .catch(() => this.catchUpSoon(RETRY))
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

  /** Delivers what is next in order, and sees to what is missing. */
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
    if (this.waiting.size > 0) this.catchUpSoon(PATIENCE);
  }

  private catchUpSoon(delay: number): void {
    if (this.isClosed) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.catchUp();
    }, delay);
  }

  private async read(): Promise<void> {
    for (;;) {
      const page = await this.store.read(this.key, { epoch: this.epoch, after: this.delivered, limit: PAGE });
      if (this.isClosed) return;
      if (page.epoch !== this.epoch && page.messages[0]?.offset === 1) this.delivered = 0;
      this.epoch = page.epoch;
      for (const message of page.messages) if (message.offset > this.delivered) this.pass(message);
      // Of another epoch, or trimmed before it could be delivered: it will not come any more.
      for (const [offset, message] of this.waiting) if (message.epoch !== page.epoch) this.waiting.delete(offset);
      if (this.delivered >= page.offset || page.messages.length === 0) return;
    }
  }

  private pass(message: StoredMessage): void {
    this.delivered = message.offset;
    this.deliver(message);
  }
}
