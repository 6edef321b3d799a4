import type { DefaultEventsMap, Server, Socket } from 'socket.io';
import type { Failure } from '../../base/errors.js';
import type { Grant } from '../accounts/identity.js';

/** Display names by user. */
export type NamesByUser = Readonly<Record<string, string>>;

/** The reply to a client's event. */
export type Reply<T = object> = ({ ok: true } & T) | Failure;

export type ReplyCallback<T = object> = (reply: Reply<T>) => void;

/**
 * The position of a message in its conversation. `offset` counts the messages from 1 without gaps. Tags grow from message to
 * message, and tell a message from one that was lost with the same offset. Both are absent if the server keeps no history.
 */
export interface PostReply {
  offset?: number;
  tag?: number;
}

/** The position is that of the last message before the first one that arrives as an event. */
export interface JoinReply extends PostReply {
  room: string;
  /** How many users are in the room, on all workers and machines. */
  members: number;
  /** The worker that the client is on, for debugging. */
  worker: number;
}

export interface WhoReply {
  room: string;
  members: number;
  /** Names of the users; in large rooms not all of them. */
  users: string[];
  /** The display names of the listed users that have one; only tokens carry them. */
  names?: NamesByUser;
  /** How many connections each of them has that has several. Without tokens, these may be people who chose one name. */
  connections?: Readonly<Record<string, number>>;
}

export interface TokenReply {
  /** The user's name, which does not change. */
  name: string;
  /** When the new token, and with it the connection, expires, in ms since 1970; absent for never. */
  expires?: number;
}

export interface WatchReply {
  room: string;
  /** The event with the changes of the room. */
  event: string;
  /** How many keys the room has at present. */
  keys: number;
}

/** How a client watches a state room. */
export interface WatchInput {
  room: string;
  /** `meta.version` of the last changes that the client has: it then gets only what has changed since. */
  version?: string;
  /** How many updates a second the client gets at most, from 0.01 to 1,000; by default, as many as it reads. */
  maxRate?: number;
}

export interface MessageInput {
  room: string;
  text: string;
}

export interface DirectInput {
  /** The recipient's name. */
  to: string;
  text: string;
}

/** A page of a room's messages, or of messages exchanged with a user. */
export type HistoryInput = ({ room: string } | { with: string }) & {
  /** The tag of the message at `after`, or at `before` if there is no `after`: the reply then says if it is lost. */
  tag?: number;
  /** Messages after this offset, oldest first; 0 starts at the beginning. */
  after?: number;
  /** Messages before this offset; without `after` the newest of them. */
  before?: number;
  /** Maximum number of messages, from 1 to 1000. @default 50 */
  limit?: number;
};

export interface HistoryReply {
  /** Oldest first. */
  messages: (ChatMessage | DirectMessage)[];
  /** The newest position of the conversation. */
  offset: number;
  tag: number;
  /** The offset before the first message of the page; without messages, where a reader goes on. */
  after: number;
  /** False if some of the requested messages are gone. */
  complete: boolean;
  /**
   * The server has lost the message with this offset and tag, and perhaps more. The page begins behind the newest message that is
   * not newer than it.
   */
  lost?: true;
}

/** The fields of the reply to each event, besides `ok`. */
export interface Replies {
  join: JoinReply;
  leave: object;
  message: PostReply;
  direct: PostReply;
  history: HistoryReply;
  who: WhoReply;
  token: TokenReply;
  watch: WatchReply;
  unwatch: object;
}

/** The events that a client sends. Each accepts an acknowledgement. */
export interface ClientEvents {
  join: (room: string, reply?: ReplyCallback<Replies['join']>) => void;
  leave: (room: string, reply?: ReplyCallback<Replies['leave']>) => void;
  message: (message: MessageInput, reply?: ReplyCallback<Replies['message']>) => void;
  direct: (message: DirectInput, reply?: ReplyCallback<Replies['direct']>) => void;
  history: (page: HistoryInput, reply?: ReplyCallback<Replies['history']>) => void;
  who: (room: string, reply?: ReplyCallback<Replies['who']>) => void;
  /** A new token, sent before the present one expires. */
  token: (token: string, reply?: ReplyCallback<Replies['token']>) => void;
  watch: (room: WatchInput, reply?: ReplyCallback<Replies['watch']>) => void;
  unwatch: (room: string, reply?: ReplyCallback<Replies['unwatch']>) => void;
  echo: (value: unknown, reply?: (value: unknown) => void) => void;
}

/**
 * The same events for clients that request every reply. With `Socket<ServerEvents, AcknowledgedEvents>` of
 * socket.io-client, `emitWithAck` knows the type of the reply, which an optional callback hides from it.
 */
export type AcknowledgedEvents = {
  [E in keyof ClientEvents]: (...args: Required<Parameters<ClientEvents[E]>>) => void;
};

export interface ChatMessage extends PostReply {
  room: string;
  /** The sender's name. */
  from: string;
  text: string;
  /** When the server accepted the message, in ms since 1970. */
  at: number;
  /** The operator has deleted the message: `from` and `text` are empty. */
  deleted?: true;
}

/** A message between two users, as every socket of both receives it. */
export interface DirectMessage extends PostReply {
  from: string;
  to: string;
  text: string;
  at: number;
  /** The operator has deleted the message: `from`, `to` and `text` are empty. */
  deleted?: true;
}

export interface RoomPresence {
  room: string;
  members: number;
  /** The users who joined and left since the last event; absent in rooms with more than 100 members. */
  joined?: string[];
  left?: string[];
  /** The display names of those users that have one. */
  names?: NamesByUser;
}

/** Offsets from the first to the last one. */
export type OffsetRange = readonly [first: number, last: number];

/** The operator has deleted messages of a room, or messages exchanged with a user. Their positions stay. */
export type DeletedMessages = ({ room: string } | { with: string }) & {
  ranges: readonly OffsetRange[];
};

/** The operator has ended the membership of a room, or the connection if there is no room. */
export interface Ended {
  room?: string;
  code: 'ROOM_CLOSED' | 'DISCONNECTED' | 'TOKEN_REVOKED';
  /** What happened, and what to do. */
  message: string;
}

/** The events that a client receives. */
export interface ServerEvents {
  message: (message: ChatMessage) => void;
  direct: (message: DirectMessage) => void;
  presence: (presence: RoomPresence) => void;
  deleted: (deleted: DeletedMessages) => void;
  ended: (ended: Ended) => void;
  echo: (value: unknown) => void;
}

/** The server's data about a connected socket. */
export interface SocketData {
  /** The user's rights. */
  grant: Grant;
  /** The user's name. */
  name: string;
  /** The name to show beside it, if there is another one. */
  displayName?: string;
}

export type ChatServer = Server<ClientEvents, ServerEvents, DefaultEventsMap, SocketData>;
export type ChatSocket = Socket<ClientEvents, ServerEvents, DefaultEventsMap, SocketData>;
