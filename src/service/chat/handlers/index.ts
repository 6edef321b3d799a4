import { GjallarError } from '../../../base/errors.js';
import { type Conversation, directBetween, enterKeptRoom } from '../../../features/history/index.js';
import { isAllowed, requireRoom } from '../../accounts/identity.js';
import { type ChatContext, chatRoomOf, ioRoomOf, namesOf, roomsOf } from '../context.js';
import { post, readConversation } from '../conversations/post.js';
import { identifyByToken } from '../identify.js';
import { readName, readObject, readPageQuery, readRoom, readText } from '../input.js';
import type { ChatSocket, HistoryReply, JoinReply, PostReply, Replies, TokenReply, WhoReply } from '../protocol.js';
import { unwatch, watch } from '../state/watch.js';

const isChatRoom = (ioRoom: string) => chatRoomOf(ioRoom) !== undefined;

/** How many rooms one socket may join. */
export const MAX_ROOMS = 100;

export async function join(context: ChatContext, socket: ChatSocket, input: unknown): Promise<JoinReply> {
  const room = readRoom(input);
  requireRoom(socket.data.grant, 'join', room);
  const { presence, worker, conversations } = context;
  const position = await enterKeptRoom(socket, ioRoomOf(room), {
    isKept: isChatRoom,
    maxRooms: MAX_ROOMS,
    follow: async () => conversations?.follow(room),
  });
  return { room, members: presence.usersOf(ioRoomOf(room)).members, worker: worker.mesh.id, ...position };
}

export async function leave(_context: ChatContext, socket: ChatSocket, input: unknown): Promise<object> {
  await socket.leave(ioRoomOf(readRoom(input)));
  return {};
}

export async function message(context: ChatContext, socket: ChatSocket, input: unknown): Promise<PostReply> {
  const fields = readObject(input);
  const room = readRoom(fields.room);
  const text = readText(fields.text);
  if (!socket.rooms.has(ioRoomOf(room))) throw new GjallarError('NOT_IN_ROOM');
  requireRoom(socket.data.grant, 'publish', room);
  return postOne(context, socket, { room }, text);
}

export async function direct(context: ChatContext, socket: ChatSocket, input: unknown): Promise<PostReply> {
  const fields = readObject(input);
  return postOne(context, socket, directBetween(socket.data.name, readName(fields.to)), readText(fields.text));
}

async function postOne(context: ChatContext, { conn, data }: ChatSocket, to: Conversation, text: string) {
  const [position] = await post(context, to, [{ from: data.name, text, at: Date.now() }], { client: conn });
  return position!;
}

export async function history(context: ChatContext, socket: ChatSocket, input: unknown): Promise<HistoryReply> {
  const fields = readObject(input);
  const page = readPageQuery(fields);
  const { name, grant } = socket.data;
  if (fields.room !== undefined && fields.with !== undefined) {
    throw new GjallarError('BAD_INPUT', 'Send either "room" or "with", not both.');
  }
  if (fields.with !== undefined) {
    return readConversation(context, directBetween(name, readName(fields.with)), page, socket.conn);
  }
  const room = readRoom(fields.room);
  requireRoom(grant, 'join', room);
  return readConversation(context, { room }, page, socket.conn);
}

export async function who({ presence, engine }: ChatContext, socket: ChatSocket, input: unknown): Promise<WhoReply> {
  const room = readRoom(input);
  requireRoom(socket.data.grant, 'join', room);
  // A client that still owes something costs no list.
  engine.costs.chargeAtOnce(socket.conn, 0);
  const { members, users, sockets } = presence.usersOf(ioRoomOf(room));
  const connections = sockets.size > 0 ? Object.fromEntries(sockets) : undefined;
  const list = { room, members, users: [...users.keys()].sort(), names: namesOf(users), connections };
  engine.costs.charge(socket.conn, Buffer.byteLength(JSON.stringify(list)));
  return list;
}

/** Replaces a token before it expires. The connection continues with the rights of the new token. */
export async function token(context: ChatContext, socket: ChatSocket, input: unknown): Promise<TokenReply> {
  const { accounts, expiry, presence, states } = context;
  if (!accounts) throw new GjallarError('TOKENS_OFF');
  const identity = await identifyByToken(accounts, input);
  const { name, displayName, grant, expires } = identity;
  if (name !== socket.data.name) throw new GjallarError('TOKEN_OTHER_USER');
  Object.assign(socket.data, { grant, displayName });
  expiry.set(socket, identity);
  presence.update(socket, displayName);
  for (const room of roomsOf(socket)) if (!isAllowed(grant, 'join', room)) await leave(context, socket, room);
  for (const room of states.all) if (!isAllowed(grant, 'join', room.name)) room.leave(socket);
  return { name, expires };
}

/**
 * Handles one event of a client. The input is unchecked. Resolves with the fields of the reply besides `ok`; on failure,
 * rejects with a GjallarError.
 */
export type Handler<Event extends keyof Replies = keyof Replies> = (
  context: ChatContext,
  socket: ChatSocket,
  input: unknown,
) => Promise<Replies[Event]>;

/**
 * Handlers that are rejected while too many events of their client have no reply yet. The others store messages, which
 * have bounds of their own, or cost next to nothing.
 */
export const boundedHandlers: ReadonlySet<unknown> = new Set([join, history, who, token, watch]);

/** The events whose reply is `{ ok, … }`: all events except `echo`. */
const byEvent: { readonly [Event in keyof Replies]: Handler<Event> } = {
  join,
  leave,
  message,
  direct,
  history,
  who,
  token,
  watch,
  unwatch,
};

/** Clients choose the name of an event, so it is no property of an object. */
export const handlers: ReadonlyMap<unknown, Handler> = new Map(Object.entries(byEvent));
