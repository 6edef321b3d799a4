import { thisProcess } from '../../../base/process.js';
import { type AnyNamespace, type AnyServer, namespaceOf } from '../../../io/any.js';
import { serviceOf } from '../../../io/rooms/index.js';
import type { ArchiveReader } from '../page.js';
import type { HistoryStore } from '../store.js';
import { type ConversationEvents, Conversations } from './conversations.js';

/** The event between workers. */
const EVENT = 'gjallar:messages';

export interface ConversationsOptions extends ConversationEvents {
  /** Keeps the messages. */
  readonly store: HistoryStore;
  /** Reads messages that the store no longer has. */
  readonly archive?: ArchiveReader | undefined;
}

/**
 * Rooms, and pairs of users, whose messages are kept, for an application with a protocol of its own. Durable rooms
 * (`createDurableRooms()`) have a protocol and a helper for clients, and rest on the same.
 *
 * ```
 * const conversations = openConversations(io, {
 *   store,
 *   hasRoom: (room) => io.of('/').adapter.rooms.has(room),
 *   hasUser: () => false,
 *   deliver: ({ room }, message) => io.local.to(room).emit('message', message),
 * });
 * const [{ offset, tag }] = await conversations.post({ room: 'hall' }, [{ from: 'Ada', text: 'Hello', at: Date.now() }]);
 * ```
 *
 * Call it once for a namespace, on every worker, before clients connect. Call `follow()` when a client has joined a room.
 */
export function openConversations(
  of: AnyServer | AnyNamespace,
  { store, archive, ...events }: ConversationsOptions,
): Conversations {
  const open = serviceOf(namespaceOf(of), EVENT, (reason) =>
    thisProcess.reports.malformed('application', `${EVENT}: ${reason}`),
  );
  return new Conversations(store, archive, open, events);
}
