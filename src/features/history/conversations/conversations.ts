import { GjallarError } from '../../../base/errors.js';
import type { RequestCosts } from '../../../engine/limits/request-costs.js';
import { WorkQueue } from '../../../engine/limits/work-queue.js';
import type { OpenService } from '../../../io/rooms/index.js';
import { bytesOf, readThrough } from '../page.js';
import {
  type AppendOptions,
  checkedText,
  type HistoryStore,
  type LinkedMessage,
  type NewMessage,
  type Page,
  type PageQuery,
  type Position,
  type StoredMessage,
} from '../store.js';
import { Announcer } from './announcer.js';
import { type Conversation, keyOf } from './conversation.js';
import { FollowedConversations, type LocalMembers } from './followed.js';
import { Resequencer } from './resequencer.js';

interface BudgetLimits {
  perClient: number;
  total: number;
}

/** In bytes of messages that wait for the history on this worker. */
const LIMITS: BudgetLimits = { perClient: 1 << 20, total: 32 << 20 };

/** Bounds the messages that wait for the history to keep them, for each client and in all. */
export class AppendBudget {
  private readonly byClient = new Map<unknown, number>();
  private total = 0;

  constructor(private readonly limits = LIMITS) {}

  /**
   * Reserves bytes until the returned function is called. A client that has nothing waiting may exceed its own limit,
   * so that any single request fits.
   * @throws GjallarError OVERLOADED
   */
  reserve(client: unknown, bytes: number): () => void {
    const { perClient, total } = this.limits;
    const waiting = this.byClient.get(client) ?? 0;
    const isFull = (waiting > 0 && waiting + bytes > perClient) || (this.total > 0 && this.total + bytes > total);
    if (isFull) throw new GjallarError('OVERLOADED');
    this.byClient.set(client, waiting + bytes);
    this.total += bytes;
    return () => {
      this.total -= bytes;
      const left = this.byClient.get(client)! - bytes;
      if (left > 0) this.byClient.set(client, left);
      else this.byClient.delete(client);
    };
  }
}

/** What a read has cost. */
interface ReadCost {
  bytes: number;
  ms: number;
  /** What became of messages that the page should have; false if it has all. */
  lacks: 'lost' | 'trimmed' | false;
}

/** The position of a posted message; `duplicate` says that an earlier call with the same key has kept it. */
export type PostResult = Position & { duplicate?: true };

export interface ConversationEvents extends LocalMembers {
  /** Delivers to this worker's members. */
  deliver(conversation: Conversation, message: StoredMessage): void;
  /** Told that the history lacks messages that were delivered here, and when the last one was. */
  onLoss?(lastUsed: number): void;
  /**
   * Whether a room that is followed from now on begins with the first message that is announced meanwhile, and not behind the
   * newest one: for members that do not ask for a position.
   */
  readonly startsWithAnnounced?: boolean;
  /** Told the cost of each read that a client has asked for. */
  onRead?(cost: ReadCost): void;
  /** Charges clients for the bytes that they read. Without it, they may read as much as they like, one page at a time. */
  readonly costs?: RequestCosts | undefined;
}

type Archive = Parameters<typeof readThrough>[1];

/** How often idle conversations are looked for. */
const IDLE_INTERVAL_MS = 1000;

/**
 * Conversations that are kept: a message is acknowledged when the history has it, and reaches all members in the order
 * of the offsets that the history gave out.
 */
export class Conversations {
  private readonly followed: FollowedConversations;
  private readonly starting = new Map<Resequencer, Promise<void>>();
  private readonly announcer: Announcer;
  private readonly reads: WorkQueue;
  private readonly budget = new AppendBudget();
  private readonly timer: NodeJS.Timeout;
  private isClosed = false;

  /** @param open begins the service that tells other workers of new messages */
  constructor(
    private readonly store: HistoryStore,
    private readonly archive: Archive,
    open: OpenService,
    private readonly events: ConversationEvents,
  ) {
    this.reads = new WorkQueue('history reads', events.costs);
    this.followed = new FollowedConversations(
      events,
      (key, conversation) =>
        new Resequencer(
          key,
          store,
          (message) => events.deliver(conversation, message),
          (lastUsed) => events.onLoss?.(lastUsed),
        ),
    );
    this.announcer = new Announcer(open, {
      onMessages: (key, messages) => {
        const resequencer = this.followed.resequencerFor(key, messages[0]!);
        for (const message of messages) resequencer?.receive(message);
      },
      onPosition: (key, first, last) => this.followed.resequencerFor(key, first)?.receivePosition(last),
      onGap: () => this.verify(),
    });
    this.timer = setInterval(() => this.followed.endIdle(), IDLE_INTERVAL_MS).unref();
    // It may have lost what members wait for.
    store.listen({ onReady: () => this.verify() });
  }

  /**
   * Keeps messages and has them delivered to all members. Resolves once they are kept.
   * @param options its `client` bounds how much one client has waiting
   * @throws GjallarError BAD_INPUT, HISTORY_REFUSED, HISTORY_UNAVAILABLE, HISTORY_UNCERTAIN or OVERLOADED
   */
  async post(
    conversation: Conversation,
    messages: readonly NewMessage[],
    options: AppendOptions = {},
  ): Promise<PostResult[]> {
    const key = keyOf(conversation);
    for (const { from, text } of messages) {
      checkedText('author', from);
      checkedText('text', text);
    }
    const client = options.client ?? {};
    const release = this.budget.reserve(client, bytesOf(messages));
    try {
      const results = await this.store.append(key, messages, { ...options, client });
      const posted = messages.flatMap(({ from, text, at }, index): LinkedMessage[] => {
        const { offset, tag, before, duplicate } = results[index]!;
        return duplicate ? [] : [{ from, text, at, offset, tag, before }];
      });
      if (posted.length > 0) this.announcer.announce(key, posted);
      const repeated = results.findLast(({ duplicate }) => duplicate);
      if (repeated && 'room' in conversation) this.announcer.announceRepeated(key, repeated);
      return results.map(({ before: _, ...result }) => result);
    } finally {
      release();
    }
  }

  /**
   * Reads a page when it is the client's turn.
   * @throws GjallarError BAD_INPUT, HISTORY_UNAVAILABLE, RATE_LIMITED, OVERLOADED
   */
  async read(conversation: Conversation, query: PageQuery, client: object | string = {}): Promise<Page> {
    return this.reads.run(client, async () => {
      const start = performance.now();
      const key = keyOf(conversation);
      const page = await readThrough(this.store, this.archive, key, query);
      // In a quiet room, nothing else shows that the history has lost something.
      this.followed.known(key)?.compare(page);
      const lacks = !page.complete && (page.lost ? 'lost' : 'trimmed');
      const bytes = bytesOf(page.messages);
      this.events.costs?.charge(client, bytes);
      this.events.onRead?.({ bytes, ms: performance.now() - start, lacks });
      return page;
    });
  }

  /**
   * Follows a room as long as it has members here. Call it after the member has joined: it resolves with the last
   * message before those that the member receives as they come.
   * @throws GjallarError BAD_INPUT, HISTORY_UNAVAILABLE
   */
  async follow(room: string): Promise<Position> {
    const resequencer = this.followed.room(room);
    if (resequencer.isStarted) return resequencer.position;
    const started = this.starting.get(resequencer) ?? resequencer.start(this.events.startsWithAnnounced);
    this.starting.set(resequencer, started);
    try {
      await started;
    } finally {
      this.starting.delete(resequencer);
    }
    // The room was empty for a moment meanwhile, and has members again.
    if (resequencer.isClosed && !this.isClosed && this.events.hasRoom(room)) return this.follow(room);
    return resequencer.position;
  }

  /** Reads all conversations from the history, because announcements may have been lost. */
  private verify(): void {
    for (const resequencer of this.followed) resequencer.catchUp();
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
    this.announcer.close();
    this.followed.close();
  }
}
