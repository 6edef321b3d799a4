import { readThrough } from '../history/read-through.js';
import type {
  AppendOptions,
  AppendResult,
  HistoryStore,
  NewMessage,
  Page,
  PageQuery,
  Position,
  StoredMessage,
} from '../history/store.js';
import { type Conversation, conversationOf, keyOf } from './conversation.js';
import { Feed } from './feed.js';

/** What workers tell each other of conversations. */
export type ConversationNews = { key: string; messages: StoredMessage[] }[];

/** How far conversations have come in the last moments. */
export type ConversationHeads = { key: string; first: Position; last: Position }[];

export interface ConversationEvents {
  /** Tells all other workers what was posted here. What is lost on the way is made good by {@link ConversationEvents.tellHeads}. */
  tellNews(news: ConversationNews): void;
  /** Tells all other workers how far the conversations have come that this one has posted to. */
  tellHeads(heads: ConversationHeads): void;
  /** Delivers to this worker's members. */
  deliver(conversation: Conversation, message: StoredMessage): void;
  /** Whether somebody on this worker takes part in the conversation. */
  hasMembers(conversation: Conversation): boolean;
}

type Archive = Parameters<typeof readThrough>[1];

/** How often the others are told how far the conversations have come, in ms. */
const HEADS_INTERVAL = 1000;
/** Of how many such rounds a post is part. */
const HEADS_ROUNDS = 3;
/** How long the first message that is heard of a direct conversation waits for one that it may have overtaken, in ms. */
const FIRST_CONTACT = 30;
/** How long a direct conversation is followed after its last message, in ms. */
const FOLLOWED = 60_000;

/**
 * Conversations that are kept: a message is acknowledged when the history has it, and reaches all members in the order
 * of the offsets that the history gave out.
 */
export class Conversations {
  private readonly feeds = new Map<string, Feed>();
  private readonly starting = new Map<string, Promise<void>>();
  private readonly heads = new Map<string, { first: Position; last: Position; rounds: number }>();
  private news = new Map<string, StoredMessage[]>();
  private isTelling = false;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly store: HistoryStore,
    private readonly archive: Archive,
    private readonly events: ConversationEvents,
  ) {
    this.timer = setInterval(() => this.onInterval(), HEADS_INTERVAL);
  }

  /**
   * Keeps messages and has them delivered to all members. Resolves once they are kept.
   * @throws GjallarError HISTORY_REFUSED, HISTORY_UNAVAILABLE or HISTORY_UNCERTAIN
   */
  async post(
    conversation: Conversation,
    messages: readonly NewMessage[],
    options?: AppendOptions,
  ): Promise<AppendResult[]> {
    const key = keyOf(conversation);
    const results = await this.store.append(key, messages, options);
    const posted = messages.flatMap((message, index): StoredMessage[] => {
      const { epoch, offset, duplicate } = results[index]!;
      return duplicate ? [] : [{ from: message.from, text: message.text, at: message.at, epoch, offset }];
    });
    if (posted.length > 0) this.announce(key, posted);
    return results;
  }

  /** @throws GjallarError HISTORY_UNAVAILABLE */
  read(conversation: Conversation, query: PageQuery): Promise<Page> {
    return readThrough(this.store, this.archive, keyOf(conversation), query);
  }

  /**
   * Follows a room as long as it has members here. Call it after the member has joined: what it resolves with is the
   * last message before those that the member gets by itself.
   * @throws GjallarError HISTORY_UNAVAILABLE
   */
  async follow(conversation: Conversation): Promise<Position> {
    const key = keyOf(conversation);
    const known = this.feeds.get(key);
    if (known && !this.starting.has(key)) return known.position;
    const feed = known ?? this.createFeed(key, conversation);
    const started = this.starting.get(key) ?? feed.start();
    this.starting.set(key, started);
    try {
      await started;
      return feed.position;
    } catch (error) {
      this.drop(key);
      throw error;
    } finally {
      this.starting.delete(key);
    }
  }

  /** Takes what another worker has posted. */
  receive(news: ConversationNews): void {
    for (const { key, messages } of news) {
      const feed = this.feedFor(key, messages[0]!);
      for (const message of messages) feed?.receive(message);
    }
  }

  /** Takes how far conversations have come on another worker. */
  receiveHeads(heads: ConversationHeads): void {
    for (const { key, first, last } of heads) this.feedFor(key, first)?.hear(last);
  }

  /** Looks all conversations up in the history: something that was told may have been lost. */
  verify(): void {
    for (const feed of this.feeds.values()) feed.catchUp();
  }

  close(): void {
    clearInterval(this.timer);
    for (const key of [...this.feeds.keys()]) this.drop(key);
  }

  private announce(key: string, messages: StoredMessage[]): void {
    const waiting = this.news.get(key);
    if (waiting) waiting.push(...messages);
    else this.news.set(key, messages);
    const last = messages.at(-1)!;
    const head = this.heads.get(key);
    if (head?.last.epoch === last.epoch) Object.assign(head, { last: positionOf(last), rounds: HEADS_ROUNDS });
    else this.heads.set(key, { first: positionOf(messages[0]!), last: positionOf(last), rounds: HEADS_ROUNDS });
    if (this.isTelling) return;
    this.isTelling = true;
    // What is posted in one turn of the loop is told in one message.
    setImmediate(() => this.tell());
  }

  private tell(): void {
    this.isTelling = false;
    const news = [...this.news].map(([key, messages]) => ({ key, messages }));
    this.news = new Map();
    this.events.tellNews(news);
    this.receive(news);
  }

  private onInterval(): void {
    const heads = [...this.heads].map(([key, { first, last }]) => ({ key, first, last }));
    if (heads.length > 0) this.events.tellHeads(heads);
    for (const [key, head] of this.heads) {
      head.rounds--;
      if (head.rounds === 0) this.heads.delete(key);
    }
    const now = Date.now();
    for (const [key, feed] of this.feeds) {
      const conversation = conversationOf(key);
      const isIdle = 'users' in conversation && now - feed.lastUsed > FOLLOWED;
      if (isIdle || !this.events.hasMembers(conversation)) this.drop(key);
    }
  }

  /** The feed of a conversation that somebody here takes part in. A direct one begins with the first that is heard. */
  private feedFor(key: string, first: Position): Feed | undefined {
    const known = this.feeds.get(key);
    if (known) return known;
    const conversation = conversationOf(key);
    if ('room' in conversation || !this.events.hasMembers(conversation)) return undefined;
    const feed = this.createFeed(key, conversation);
    // Nothing comes before the first message of all.
    if (first.offset === 1) feed.startAt(first.epoch, 0);
    else setTimeout(() => feed.begin(first), FIRST_CONTACT);
    return feed;
  }

  private createFeed(key: string, conversation: Conversation): Feed {
    const feed = new Feed(key, this.store, (message) => this.events.deliver(conversation, message));
    this.feeds.set(key, feed);
    return feed;
  }

  private drop(key: string): void {
    this.feeds.get(key)?.close();
    this.feeds.delete(key);
  }
}

function positionOf({ epoch, offset }: Position): Position {
  return { epoch, offset };
}
