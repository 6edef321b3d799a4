import { owned } from '../../base/owner.js';
import { GjallarError } from '../../errors.js';
import type { Conversations } from '../conversations/conversations.js';
import type { Page, PageQuery } from '../store.js';
import { MAX_PAGE } from '../store.js';
import { attachmentsOf, type DurableEvent, eventOf } from './event.js';
import type { AnySocket, DurableRoomsOptions } from './options.js';

/** An event of a durable room as its readers get it. Without `event`, it was erased, or cannot be read. */
export interface KeptEvent {
  readonly room: string;
  readonly epoch: string;
  readonly offset: number;
  readonly event?: string;
  readonly values?: readonly unknown[];
  readonly deleted?: true;
}

export type KeptPage = Omit<Page, 'messages'> & { messages: KeptEvent[] };

/** Clients of Socket.IO reject a packet with more attachments. A page with more is shorter than was asked. */
const MAX_ATTACHMENTS = 10;
/** How many requests of one client may be in progress. */
const MAX_REQUESTS = 100;

interface Rooms {
  isDurable(room: unknown): room is string;
  /** The name of a room in the history. */
  nameOf(room: string): string;
  readonly conversations: Conversations;
  readonly options: Pick<DurableRoomsOptions, 'mayJoin' | 'onError'> & { readonly maxRooms: number };
}

/**
 * Answers the requests of the helper `DurableRooms` of `gjallar/client`.
 * @returns what ends it
 */
export function answerRequests(socket: AnySocket, rooms: Rooms): () => void {
  let requests = 0;
  const ends: (() => void)[] = [];
  const on = (event: string, answer: (input: unknown) => Promise<object>) => {
    const listener = async (input: unknown, reply: unknown) => {
      if (typeof reply !== 'function') return;
      requests++;
      try {
        if (requests > MAX_REQUESTS) throw new GjallarError('RATE_LIMITED');
        reply({ ok: true, ...(await answer(input)) });
      } catch (error) {
        const isKnown = error instanceof Error && 'code' in error && 'status' in error;
        if (!isKnown) rooms.options.onError?.(error, '');
        const { code, message } = isKnown ? (error as GjallarError) : new GjallarError('INTERNAL');
        reply({ ok: false, code, message });
      } finally {
        requests--;
      }
    };
    const answering = owned(`answering ${event}`, listener);
    socket.on(event, answering);
    ends.push(() => socket.off(event, answering));
  };
  on('durable:join', (room) => join(socket, room, rooms));
  on('durable:read', (query) => read(socket, query, rooms));
  on('durable:leave', async (room) => {
    if (rooms.isDurable(room)) await socket.leave(room);
    return {};
  });
  return () => {
    for (const end of ends) end();
  };
}

async function join(socket: AnySocket, room: unknown, rooms: Rooms): Promise<object> {
  const { isDurable, nameOf, conversations, options } = rooms;
  if (!isDurable(room)) throw new GjallarError('BAD_ROOM', 'This server keeps no messages of a room of this name.');
  if (!socket.rooms.has(room)) {
    const mayJoin = options.mayJoin && (await options.mayJoin(socket, room));
    if (!mayJoin) throw new GjallarError('ROOM_FORBIDDEN', `This client may not enter the room "${room}".`);
    if ([...socket.rooms].filter(isDurable).length >= options.maxRooms) {
      throw new GjallarError('TOO_MANY_ROOMS', `This client is in ${options.maxRooms} rooms, the maximum. Leave one.`);
    }
    await socket.join(room);
  }
  return { room, ...(await conversations.follow(nameOf(room))) };
}

async function read(socket: AnySocket, input: unknown, rooms: Rooms): Promise<KeptPage> {
  const { room, epoch, after, before, limit = 100 } = (input ?? {}) as Record<string, unknown>;
  if (!rooms.isDurable(room) || !socket.rooms.has(room)) throw new GjallarError('NOT_IN_ROOM');
  const isText = epoch === undefined || (typeof epoch === 'string' && epoch.length <= 64);
  const areNumbers = [after, before].every((each) => each === undefined || isCount(each));
  if (!isText || !areNumbers || !isCount(limit) || limit < 1) throw new GjallarError('BAD_PAGE');
  const query = { epoch, after, before, limit: Math.min(limit, MAX_PAGE) } as PageQuery;
  return readPage(rooms, room, query, socket.conn, MAX_ATTACHMENTS);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

export async function readPage(
  { conversations, nameOf }: Pick<Rooms, 'conversations' | 'nameOf'>,
  room: string,
  query: PageQuery,
  client: unknown,
  maxAttachments = Number.POSITIVE_INFINITY,
): Promise<KeptPage> {
  const { messages: all, ...page } = await conversations.read({ room: nameOf(room) }, query, client);
  const messages =
    query.after === undefined ? cut([...all].reverse(), maxAttachments).reverse() : cut(all, maxAttachments);
  return { ...page, messages: messages.map((message) => ({ room, ...positionOf(message), ...contentOf(message) })) };
}

/** The first messages that have no more attachments together, and at least one. */
function cut<Message extends { text: string }>(messages: Message[], maxAttachments: number): Message[] {
  let left = maxAttachments;
  const end = messages.findIndex(({ text }, index) => {
    left -= attachmentsOf(text);
    return left < 0 && index > 0;
  });
  return end < 0 ? messages : messages.slice(0, end);
}

export function positionOf({ epoch, offset }: { epoch: string; offset: number }): { epoch: string; offset: number } {
  return { epoch, offset };
}

function contentOf(message: {
  from: string;
  text: string;
}): Pick<DurableEvent, 'event' | 'values'> | { deleted: true } {
  try {
    const kept = eventOf(message);
    if (kept) return { event: kept.event, values: kept.values };
  } catch {
    // A message that cannot be read must not hide the others.
  }
  return { deleted: true };
}
