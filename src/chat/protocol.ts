import type { Grant } from '../accounts/identity.js';
import type { ErrorCode } from '../errors.js';
import type { NewMessage } from '../history/store.js';
import type { AnnouncedMessages, AnnouncedPositions } from './announcer.js';

/** What the server answers when something went wrong. The codes stand in the documentation. */
export interface Failure {
  ok: false;
  code: ErrorCode;
  /** What is wrong, and what to do about it. */
  message: string;
}

/** The reply to a client's event. */
export type Reply<T = object> = ({ ok: true } & T) | Failure;

export type ReplyCallback<T = object> = (reply: Reply<T>) => void;

/**
 * Where a message stands in its conversation: `offset` counts the messages from 1 without gaps, `epoch` changes when the
 * conversation's log was lost. Absent where the server keeps no history.
 */
export interface PostReply {
  epoch?: string;
  offset?: number;
}

/** The position is that of the last message before those that follow as events. */
export interface JoinReply extends PostReply {
  room: string;
  /** How many users are in the room, on all workers and machines. */
  members: number;
  /** The worker that the client is on, for those who look into what the server does. */
  worker: number;
}

export interface WhoReply {
  room: string;
  members: number;
  /** Names of the users; in large rooms not all of them. */
  users: string[];
}

export interface TokenReply {
  /** The user's name, which does not change. */
  name: string;
  /** When the new token ends, and the connection with it, in ms since 1970; absent where it does not. */
  expires?: number;
}

export interface MessageInput {
  room: string;
  text: string;
}

export interface DirectInput {
  /** The addressee's name. */
  to: string;
  text: string;
}

/** A page of a room's messages, or of those exchanged with a user. */
export type HistoryInput = ({ room: string } | { with: string }) & {
  /** The epoch that `after` or `before` belong to. */
  epoch?: string;
  /** Messages after this offset, oldest first; 0 is from the beginning. */
  after?: number;
  /** Messages before this offset; without `after` the newest of them. */
  before?: number;
  /** At most so many, from 1 to 1000. @default 50 */
  limit?: number;
};

export interface HistoryReply {
  /** Oldest first. */
  messages: (ChatMessage | DirectMessage)[];
  epoch: string;
  /** The newest offset of the conversation. */
  offset: number;
  /** False when part of what was asked for is gone. */
  complete: boolean;
}

/** What a client sends. Every event takes an acknowledgement. */
export interface ClientEvents {
  join: (room: string, reply?: ReplyCallback<JoinReply>) => void;
  leave: (room: string, reply?: ReplyCallback) => void;
  message: (message: MessageInput, reply?: ReplyCallback<PostReply>) => void;
  direct: (message: DirectInput, reply?: ReplyCallback<PostReply>) => void;
  history: (page: HistoryInput, reply?: ReplyCallback<HistoryReply>) => void;
  who: (room: string, reply?: ReplyCallback<WhoReply>) => void;
  /** A new token, before the present one ends. */
  token: (token: string, reply?: ReplyCallback<TokenReply>) => void;
  echo: (value: unknown, reply?: (value: unknown) => void) => void;
}

export interface ChatMessage extends PostReply {
  room: string;
  /** The sender's name. */
  from: string;
  text: string;
  /** When the server took it, in ms since 1970. */
  at: number;
}

/** A message between two users, as every socket of both receives it. */
export interface DirectMessage extends PostReply {
  from: string;
  to: string;
  text: string;
  at: number;
}

export interface Presence {
  room: string;
  members: number;
  /** Who came and who left since the last one; absent in rooms of more than 100 members. */
  joined?: string[];
  left?: string[];
}

/** What a client receives. */
export interface ServerEvents {
  message: (message: ChatMessage) => void;
  direct: (message: DirectMessage) => void;
  presence: (presence: Presence) => void;
  echo: (value: unknown) => void;
}

/** What the chats of different workers tell each other. */
export interface InterServerEvents {
  roster: (message: RosterMessage) => void;
  news: (messages: AnnouncedMessages) => void;
  said: (room: string, messages: NewMessage[]) => void;
  heads: (positions: AnnouncedPositions) => void;
}

/** A worker's users in a room: their names, or how many where there are too many to name. */
export type LocalUsers = string[] | number;

/** What a worker counts of itself. */
export interface WorkerTotals {
  /** Connected clients, in rooms or not. */
  clients: number;
  /** Messages that were said here since its start. */
  messages: number;
}

export type RosterMessage = { node: string } & (
  | /** What has changed, since change `sequence - 1`. */
  { type: 'changes'; sequence: number; rooms: Record<string, LocalUsers> } /** Everything, as of change `sequence`. */
  | { type: 'state'; sequence: number; rooms: Record<string, LocalUsers> } /** Still there, and at change `sequence`. */
  | { type: 'heartbeat'; sequence: number; totals: WorkerTotals } /** Asks `of`, or everyone, for the state. */
  | { type: 'request'; of?: string } /** Goes. */
  | { type: 'bye' }
);

/** What the server keeps of a connected socket. */
export interface SocketData {
  /** What the user may do. */
  grant: Grant;
  /** The user's name. */
  name: string;
}
