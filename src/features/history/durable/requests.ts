import { GjallarError, MalformedMessage } from '../../../base/errors.js';
import { Encoder, PacketType, placesOfAttachments, TrustedDecoder } from '../../../engine/parser/socket-io-parser.js';
import type { AnySocket } from '../../../io/any.js';
import { decodePackets } from '../../../io/rooms/encoded-packet.js';
import type { Conversations } from '../conversations/conversations.js';
import { enterKeptRoom } from '../conversations/entering.js';
import { fitting } from '../page.js';
import { MAX_PAGE, type PageQuery, positionOf, type StoredMessage } from '../store.js';
import type { DurableRoomsOptions, KeptPage } from './options.js';

/** An event to a room, as clients receive it. */
interface DurableEvent {
  readonly event: string;
  readonly values: readonly unknown[];
  /** Rooms whose sockets do not get it when it is delivered. */
  readonly except: readonly string[];
}

/** The author of every kept event: the store takes messages without an author for erased ones. */
export const AUTHOR = 'event';

/** What is kept as the text of a message: the packet of Socket.IO, and its attachments in base64. */
interface Kept {
  p: string;
  b?: string[];
  x?: readonly string[];
}

/**
 * Clients of Socket.IO reject a packet with more attachments, and disconnect. A message with more is rejected, and a page with more
 * is shorter than was asked.
 */
const MAX_ATTACHMENTS = 10;

const encoder = new Encoder();

/**
 * @returns the text that is kept
 * @throws what Socket.IO's encoder throws, for values that it cannot encode
 */
export function textOfEvent({ event, values, except }: DurableEvent): string {
  const packet = { type: PacketType.EVENT, nsp: '/', data: [event, ...values] };
  const [text, ...attachments] = encoder.encode(packet);
  const kept: Kept = { p: text as string };
  if (attachments.length > 0) kept.b = attachments.map((bytes) => (bytes as Buffer).toString('base64'));
  if (except.length > 0) kept.x = except;
  return JSON.stringify(kept);
}

/**
 * @returns the event; undefined if it was erased
 * @throws MalformedMessage if another program has written it
 */
export function eventOf({ from, text }: Pick<StoredMessage, 'from' | 'text'>): DurableEvent | undefined {
  if (from === '') return undefined;
  try {
    const { p, b = [], x = [] } = JSON.parse(text) as Kept;
    const [event, ...values] = decodePackets(
      [p, ...b.map((attachment) => Buffer.from(attachment, 'base64'))],
      TrustedDecoder,
    );
    if (typeof event === 'string') return { event, values, except: x };
  } catch {
    // It is no event.
  }
  throw new MalformedMessage('a message of a durable room is no event');
}

/**
 * Values of the application may look like the places of attachments. Messages are read in pages, in which they would stand for
 * the bytes of other messages.
 * @throws GjallarError BAD_INPUT if a value looks so, MESSAGE_TOO_LARGE with more attachments than clients accept
 */
export function checkReadable(text: string): void {
  if (!text.includes('_placeholder')) return;
  const { p, b = [] } = JSON.parse(text) as Kept;
  if (b.length > MAX_ATTACHMENTS) {
    throw new GjallarError('MESSAGE_TOO_LARGE', 'A message of a durable room has more than ten attachments. Split it.');
  }
  if (placesOfAttachments(p) !== b.length) {
    throw new GjallarError(
      'BAD_INPUT',
      'A message has a value with "_placeholder" that is no Buffer. Rename the property.',
    );
  }
}

/** How many attachments the text of a message has; 0 if it is no event. */
function attachmentsOf(text: string): number {
  try {
    return (JSON.parse(text) as Kept).b?.length ?? 0;
  } catch {
    return 0;
  }
}

interface RequestContext {
  isDurable(room: unknown): room is string;
  /** The name of a room in the history. */
  nameOf(room: string): string;
  readonly conversations: Conversations;
  /** The sockets whose client puts messages in order, and therefore needs each one. */
  readonly readers: WeakSet<AnySocket>;
  readonly options: Pick<DurableRoomsOptions, 'mayJoin'> & { readonly maxRooms: number };
}

/** The answers to the helper `DurableRooms` of `gjallar/client`. */
export const durableHandlers = (socket: AnySocket, rooms: RequestContext) => ({
  'durable:join': (room: unknown) => join(socket, room, rooms),
  'durable:read': (query: unknown) => read(socket, query, rooms),
  'durable:leave': async (room: unknown) => {
    if (rooms.isDurable(room)) await socket.leave(room);
    return {};
  },
});

async function join(socket: AnySocket, room: unknown, rooms: RequestContext): Promise<object> {
  const { isDurable, nameOf, conversations, options } = rooms;
  if (!isDurable(room)) throw new GjallarError('BAD_ROOM', 'This server keeps no messages of a room of this name.');
  const admit = async () => {
    const mayJoin = options.mayJoin && (await options.mayJoin(socket, room));
    if (mayJoin) return;
    const text = `This client may not enter the room "${room}". The server decides with mayJoin.`;
    throw new GjallarError('ROOM_FORBIDDEN', text);
  };
  const follow = () => {
    rooms.readers.add(socket);
    return conversations.follow(nameOf(room));
  };
  return { room, ...(await enterKeptRoom(socket, room, { isKept: isDurable, ...options, admit, follow })) };
}

async function read(socket: AnySocket, input: unknown, rooms: RequestContext): Promise<KeptPage> {
  const { room, tag, after, before, limit = 100 } = (input ?? {}) as Record<string, unknown>;
  if (!rooms.isDurable(room) || !socket.rooms.has(room)) throw new GjallarError('NOT_IN_ROOM');
  const areNumbers = [tag, after, before].every((each) => each === undefined || isCount(each));
  if (!areNumbers || !isCount(limit) || limit < 1) throw new GjallarError('BAD_PAGE');
  const query = { tag, after, before, limit: Math.min(limit, MAX_PAGE) } as PageQuery;
  return readPage(rooms, room, query, socket.conn, MAX_ATTACHMENTS);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

export async function readPage(
  { conversations, nameOf }: Pick<RequestContext, 'conversations' | 'nameOf'>,
  room: string,
  query: PageQuery,
  client: object,
  maxAttachments = Number.POSITIVE_INFINITY,
): Promise<KeptPage> {
  const { messages: all, ...page } = await conversations.read({ room: nameOf(room) }, query, client);
  const messages = fitting(all, maxAttachments, ({ text }) => attachmentsOf(text), query.after === undefined);
  return {
    ...page,
    after: messages[0] ? messages[0].offset - 1 : page.after,
    messages: messages.map((message) => ({ room, ...positionOf(message), ...contentOf(message) })),
  };
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
