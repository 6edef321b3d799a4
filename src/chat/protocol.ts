import type { ErrorCode } from '../errors.js';

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

export interface JoinReply {
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

export interface MessageInput {
  room: string;
  text: string;
}

/** What a client sends. Every event takes an acknowledgement. */
export interface ClientEvents {
  join: (room: string, reply?: ReplyCallback<JoinReply>) => void;
  leave: (room: string, reply?: ReplyCallback) => void;
  message: (message: MessageInput, reply?: ReplyCallback) => void;
  who: (room: string, reply?: ReplyCallback<WhoReply>) => void;
  echo: (value: unknown, reply?: (value: unknown) => void) => void;
}

export interface ChatMessage {
  room: string;
  /** The sender's name. */
  from: string;
  text: string;
  /** When the server took it, in ms since 1970. */
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
  presence: (presence: Presence) => void;
  echo: (value: unknown) => void;
}

/** What the chats of different workers tell each other. */
export interface InterServerEvents {
  roster: (message: RosterMessage) => void;
}

/** A worker's users in a room: their names, or how many where there are too many to name. */
export type LocalUsers = string[] | number;

export type RosterMessage = { node: string } & (
  | /** What has changed, since change `sequence - 1`. */
  { type: 'changes'; sequence: number; rooms: Record<string, LocalUsers> } /** Everything, as of change `sequence`. */
  | { type: 'state'; sequence: number; rooms: Record<string, LocalUsers> } /** Still there, and at change `sequence`. */
  | { type: 'heartbeat'; sequence: number } /** Asks `of`, or everyone, for the state. */
  | { type: 'request'; of?: string } /** Goes. */
  | { type: 'bye' }
);

/** What the server keeps of a connected socket. */
export interface SocketData {
  /** The user's name. */
  name: string;
}
