/**
 * A log of messages for each conversation, with gapless offsets, in SQLite or Redis.
 *
 * ```
 * const history = await SqliteHistoryStore.open({ dataDir: './data' });
 * const [{ offset, tag }] = await history.append('hall', [{ from: 'Ada', text: 'Hello', at: Date.now() }]);
 * const { messages, complete } = await history.read('hall', { after: offset, tag, limit: 100 });
 * ```
 *
 * It promises: a message that was confirmed is kept until its age or a bound removes it, all readers see one order, and a
 * reader that lacks messages learns of it (`complete`). docs/guide/durable-rooms.md has the rest.
 *
 *   store.ts, page.ts        the contract of a store, and a page of messages
 *   checked-store.ts, batcher.ts  what every store has: checks of its input, and appends that are written together
 *   sqlite/, redis/          the stores
 *   durable/                 durable rooms: rooms whose messages are kept, over a store
 *   conversations/           what workers tell each other about new messages, and the order in which members get them
 *   archive/                 the copy of the chat's messages in a database
 *   tags.ts, loss/           by what readers notice a store that came back empty or older, and how the operator learns of it
 *
 * All workers and machines that open the same store share it. Call `trim(Date.now())` about once a minute on one of them.
 */

export type { Archive } from './archive/archive.js';
export type { Archiving } from './archive/archiving.js';
export { openArchive } from './archive/open.js';
export {
  type Conversation,
  conversationOf,
  directBetween,
  keyOf,
  type Said,
} from './conversations/conversation.js';
export type { Conversations, PostResult } from './conversations/conversations.js';
export { enterKeptRoom, type KeptRooms } from './conversations/entering.js';
export { type ConversationsOptions, openConversations } from './conversations/open.js';
export { createDurableRooms } from './durable/open.js';
export type {
  DurableRooms,
  DurableRoomsOptions,
  EventsMap,
  KeptEvent,
  KeptPage,
  PostOptions,
} from './durable/options.js';
export { StoreHealth } from './loss/store-health.js';
export { type RedisHistoryOptions, RedisHistoryStore, redisClientOptions } from './redis/store.js';
export { SqliteHistoryStore, type SqliteOptions } from './sqlite/store.js';
export {
  type AppendOptions,
  type AppendResult,
  type Change,
  type Changes,
  type HistoryCall,
  HistoryError,
  type HistoryErrorCode,
  type HistoryLimits,
  type HistoryStore,
  type LinkedMessage,
  MAX_APPEND,
  MAX_ERASE,
  MAX_NAME,
  MAX_PAGE,
  MAX_PAGE_BYTES,
  type NewMessage,
  type Page,
  type PageQuery,
  type Position,
  type StoredMessage,
  type StoreEvents,
} from './store.js';
