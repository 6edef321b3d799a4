import type { HistoryStore, LinkedMessage, Page, Position, StoredMessage } from '../store.js';

/** How long a message waits for those before it before the history is read. Usually they arrive within that time. */
const MAX_GAP_WAIT_MS = 50;
/** How long until an unreachable history is read again. */
const RETRY_MS = 500;
const PAGE_SIZE = 500;
/** How many messages wait for others, or for the history. What exceeds that is read from the history. */
const MAX_WAITING = 1000;
/** By how much a message may have overtaken those before it on its way to this worker, in ms and in messages. */
const MAX_OVERTAKEN_MS = 1000;
const MAX_OVERTAKEN = 100;
/** How often the history is read for messages that it does not have: a replica may be late, or they are lost. */
const MAX_ATTEMPTS = 20;

/**
 * One conversation as this worker's members receive it: each message once, in the order of the tags, whichever worker
 * and machine posted it and in whatever order the bus brings it. What the bus has lost is read from the history.
 *
 * Each message names the one before it, and each read the last message that was delivered. So a history that has lost what
 * was delivered shows with the next message, or the next read. As tags only grow, no message is delivered twice.
 */
export class Resequencer {
  /** The last message of the present log that was delivered, or skipped; its tag is 0 if it is not known. */
  private at: Position | undefined;
  /** The newest tag that was delivered, in the present log or in one that is lost. */
  private newest = 0;
  /** Messages that are newer than those that were delivered, by their offsets. */
  private readonly waiting = new Map<number, LinkedMessage>();
  private attempts = 0;
  private reading: Promise<unknown> | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** Whether it has ended, and delivers nothing more. */
  isClosed = false;
  /** When the last message was delivered, in ms since 1970. */
  lastUsed = Date.now();

  /** @param onLoss told that the history lacks messages that were delivered, and when the last one was */
  constructor(
    private readonly key: string,
    private readonly store: HistoryStore,
    private readonly deliver: (message: StoredMessage) => void,
    private readonly onLoss: (lastUsed: number) => void = () => {},
  ) {}

  get isStarted(): boolean {
    return this.at !== undefined;
  }

  /** The last message that was delivered: everything after it will be. */
  get position(): Position {
    const { offset = 0, tag = 0 } = this.at ?? {};
    return { offset, tag: offset === 0 ? this.newest : tag };
  }

  /**
   * Starts behind the newest message of the history.
   * @param withAnnounced whether to start with the first message that has arrived meanwhile, if it is older
   */
  start(withAnnounced = false): Promise<void> {
    const starting = this.store
      .head(this.key)
      .then((head) => {
        const early = withAnnounced ? oldestOf(this.arrived.filter(({ tag }) => tag <= head.tag)) : undefined;
        this.startAfter(early ? { offset: early.offset - 1, tag: early.before } : head);
        return head;
      })
      .finally(() => {
        this.reading = undefined;
      });
    this.reading = starting;
    return starting.then((head) => {
      this.drain();
      // A later message may have been announced before this one began.
      this.receivePosition(head);
    });
  }

  /** Starts behind a known position. */
  startAfter(position: Position, newest = position.tag): void {
    this.at = position;
    this.newest = newest;
    this.forgetOld();
  }

  /**
   * Starts with the oldest message that arrived, or with `first` if none did, and with those that it has overtaken: they
   * were stored right before it.
   */
  startFrom(first: Position): void {
    if (this.isClosed || this.reading || this.at) return;
    const oldest = oldestOf(this.arrived);
    this.reading = this.overtakenBy(oldest ?? first, oldest?.at ?? Infinity)
      .catch(() => [])
      .then((page) => {
        this.reading = undefined;
        if (this.isClosed) return;
        const { offset } = page[1] ?? oldest ?? first;
        this.startAfter({ offset: offset - 1, tag: 0 }, page[0]?.tag ?? 0);
        if (page.length < 2 && this.waiting.size > 0) this.drain();
        else this.catchUp();
      });
  }

  /** The messages that this one, which was sent at this time, has overtaken, and the one before them. */
  private async overtakenBy({ offset, tag }: Position, at: number): Promise<StoredMessage[]> {
    const { messages, lost } = await this.store.read(this.key, { tag, before: offset, limit: MAX_OVERTAKEN });
    if (lost) return [];
    const old = messages.findLastIndex((message) => message.at < at - MAX_OVERTAKEN_MS);
    const before = { from: '', text: '', at: 0, offset: 0, tag: 0 };
    return [messages[old] ?? before, ...messages.slice(old + 1)];
  }

  /** Takes a message as the bus brings it. */
  receive(message: LinkedMessage): void {
    if (message.tag <= this.newest) return;
    const known = this.waiting.get(message.offset);
    if (known ? known.tag >= message.tag : this.waiting.size >= MAX_WAITING) return;
    this.waiting.set(message.offset, message);
    if (this.at && !this.reading) this.drain();
  }

  /** Takes the newest position that another worker knows, without the messages. */
  receivePosition({ tag }: Position): void {
    if (this.at && tag > this.newest) this.scheduleCatchUp(MAX_GAP_WAIT_MS);
  }

  /** Takes the newest position of the history, as another reader has found it. */
  compare({ offset, tag }: Position): void {
    const { at } = this;
    if (at && (offset < at.offset || (offset === at.offset && at.tag > 0 && tag !== at.tag))) this.catchUp();
  }

  /** Reads what is missing from the history now. */
  catchUp(): void {
    if (this.isClosed || this.reading || !this.at) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.reading = this.read(this.at)
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
    if (this.isClosed || !this.at) return;
    for (;;) {
      const next = this.waiting.get(this.at.offset + 1);
      const isNext = next && (next.before === this.at.tag || (this.at.tag === 0 && this.at.offset > 0));
      if (!isNext) break;
      this.waiting.delete(next.offset);
      this.pass(next);
    }
    if (this.waiting.size > 0) this.scheduleCatchUp(this.attempts > 0 ? RETRY_MS : MAX_GAP_WAIT_MS);
  }

  private scheduleCatchUp(delayMs: number): void {
    if (this.isClosed) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.catchUp();
    }, delayMs);
  }

  private async read(start: Position): Promise<void> {
    // What the history has of these by now is in one of the pages.
    const { arrived } = this;
    for (let at = start, offset = Infinity; at.offset < offset; at = this.at!) {
      const page = await this.store.read(this.key, { tag: at.tag, after: at.offset, limit: PAGE_SIZE });
      if (this.isClosed) return;
      this.take(page);
      offset = page.messages.length === 0 ? 0 : page.offset;
    }
    this.forgetOld();
    const isMissing = arrived.some(({ offset, tag }) => this.waiting.get(offset)?.tag === tag);
    this.attempts = isMissing ? this.attempts + 1 : 0;
    if (this.attempts < MAX_ATTEMPTS) return;
    for (const { offset } of arrived) this.waiting.delete(offset);
    this.attempts = 0;
  }

  private take({ messages, after, offset, tag, lost }: Page): void {
    if (lost) this.onLoss(this.lastUsed);
    this.at =
      after === offset ? { offset, tag } : lost || after > this.at!.offset ? { offset: after, tag: 0 } : this.at!;
    for (const message of messages) {
      if (message.tag > this.newest || message.from === '') this.pass(message);
      else this.at = message;
    }
  }

  private get arrived(): LinkedMessage[] {
    return [...this.waiting.values()];
  }

  private forgetOld(): void {
    for (const [offset, { tag }] of this.waiting) if (tag <= this.newest) this.waiting.delete(offset);
  }

  private pass(message: StoredMessage): void {
    const { offset, tag } = message;
    this.at = { offset, tag };
    this.newest = Math.max(this.newest, tag);
    this.lastUsed = Date.now();
    this.deliver(message);
  }
}

function oldestOf(messages: readonly LinkedMessage[]): LinkedMessage | undefined {
  return [...messages].sort((one, other) => one.tag - other.tag)[0];
}
