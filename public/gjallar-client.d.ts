/**
 * Rooms for socket.io-client that lose nothing: every message arrives once and in order, across reconnections.
 *
 * ```
 * import { io } from 'socket.io-client';
 * import { Rooms } from 'gjallar/client';        // in a page: '/gjallar-client.js' and the global `io`
 *
 * const rooms = new Rooms(io('http://localhost:3000'));
 * const hall = await rooms.join('hall', { last: 50 });
 * hall.on('message', ({ from, text }) => console.log(from, text));
 * ```
 * @module
 */
import type { ChatMessage, DeletedMessages as Deleted, JoinReply, PostReply } from '../dist/service/chat/protocol.js';

/**
 * The events that a client receives and sends, for `Socket<ServerEvents, ClientEvents>` of socket.io-client. With
 * `AcknowledgedEvents` for the second, every event needs an acknowledgement, and `emitWithAck` knows the reply's type.
 */
export type { AcknowledgedEvents, ClientEvents, ServerEvents } from '../dist/service/chat/protocol.js';

/** A message of a room. */
export type RoomMessage = ChatMessage;

/** Deleted messages of a room. */
export type DeletedMessages = Extract<Deleted, { room: string }>;

/**
 * The position of a message: `offset` counts the messages of a room from 1 without gaps, and `tag` tells the message from one that
 * was lost with the same offset.
 */
export type RoomPosition = Required<PostReply>;

/** The server's reply to a join. */
export type JoinResult = { ok: true } & JoinReply;

/** A join that succeeded. */
export type Joined = JoinResult & {
  /** Whether it was the first join. */
  isFirst: boolean;
  /** The number of earlier messages that are delivered now, as far as it is known. */
  missing: number;
};

export interface Recovery {
  room: string;
  /** The number of missed messages that have now been delivered. */
  missed: number;
  /** False if some missed messages no longer exist. */
  complete: boolean;
  /** Whether this was the first join: the messages are then those that `last` requested. */
  isFirst: boolean;
}

/** The listeners of a room, by event. */
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own type for any events
export type Listeners = Record<string, (...values: any[]) => void>;

/** An event of a durable room, without its position among the values. */
export interface DurableMessage extends RoomPosition {
  room: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: the application knows what it sends
  values: any[];
}

export interface JoinOptions<Message = RoomMessage> {
  /**
   * Called with each message once, in the order of the room. Instead of it, `on()` of the joined room calls a listener for each
   * event.
   */
  onMessage?: (message: Message) => void;
  /** Called when the operator has deleted messages: remove them from what you show. Their positions stay. */
  onDeleted?: (deleted: DeletedMessages) => void;
  /** Called after the first join and after each reconnection, before missed messages are delivered. */
  onJoined?: (joined: Joined) => void;
  /** Called when missed messages have been delivered, after a join or a gap. It is not called if nothing was missed. */
  onRecovered?: (recovery: Recovery) => void;
  /** Called if, after a reconnection, the server rejects the join or the request for missed messages. */
  onRefused?: (error: RoomError) => void;
  /** How many messages from before the first join are delivered. @default 0 */
  last?: number;
  /** Continues from this position, that of a {@link JoinedRoom}. @default from the first join */
  position?: RoomPosition;
}

/**
 * The part of socket.io-client's Socket that is used here. It consists of methods, so that sockets with typed events are
 * assignable.
 */
export interface SocketLike {
  on(event: never, listener: never): unknown;
  off(event?: never, listener?: never): unknown;
  onAny(listener: never): unknown;
  offAny(listener?: never): unknown;
  timeout(ms: number): object;
}

/** The server rejected a request, or did not answer it (`code` is then `LOST`). */
export class RoomError extends Error {
  constructor(code: string, message: string);
  readonly code: string;
}

/** A room that a client has joined. It has the properties of the server's reply, too. */
export class JoinedRoom<Events extends object = Listeners> {
  private constructor();
  /** The position of the last delivered message, to continue from later; undefined if there is none. */
  get position(): RoomPosition | undefined;
  /**
   * Calls a listener with the values of each such event, once and in the order of the room. Messages wait for the first listener
   * of a room: add all of them in the same turn.
   */
  on<Event extends keyof Events & string>(event: Event, listener: Events[Event]): this;
  off<Event extends keyof Events & string>(event: Event, listener: Events[Event]): this;
  /**
   * Leaves the room, also for others who have joined it with the same helper. Rejects with a {@link RoomError} if the server
   * does not answer.
   */
  leave(): Promise<{ ok: true }>;
}

/** Rooms of which the client misses nothing. */
declare class KeptRooms<Message, Events extends object> {
  constructor(socket: SocketLike);
  /**
   * Joins a room as soon as the socket is connected, and joins it again after every reconnection. Rejects with a
   * {@link RoomError} if the server rejects the client or the join, or does not answer.
   *
   * A second call for a room resolves with the same room, and adds its callbacks; `last` and `position` are those of the first.
   */
  join(name: string, options?: JoinOptions<Message>): Promise<JoinedRoom<Events> & JoinResult>;
  /** Leaves a room, even if `join()` has not resolved yet. Rejects with a {@link RoomError} if the server does not answer. */
  leave(name: string): Promise<{ ok: true }>;
  /** Removes all listeners from the socket, and leaves its connection as it is. */
  close(): void;
}

/**
 * Rooms of the chat over a socket of socket.io-client: every message arrives once and in order, across reconnections.
 *
 * You keep control of the socket. It reconnects by itself after a lost connection, but not after the server has ended the
 * connection, for example because a token expired (reason `io server disconnect`). Connect it again, and the rooms resume.
 */
export class Rooms extends KeptRooms<RoomMessage, { message: (message: RoomMessage) => void }> {}

/**
 * Durable rooms of an application (`createDurableRooms()` of `gjallar/history`): every event arrives once and in order, across
 * reconnections.
 *
 * ```
 * const rooms = new DurableRooms(socket);
 * const order = await rooms.join('order:7', { last: 20 });
 * order.on('status', ({ paid }) => show(paid));
 * ```
 */
export class DurableRooms<Events extends object = Listeners> extends KeptRooms<DurableMessage, Events> {}

export interface StateMapOptions {
  /**
   * The event with which the server lets the client join: `watch` in the chat service. With another one than these two, `close()`
   * does not leave the room: your own protocol does.
   * @default `state:join`, which rooms of `createStateRoom()` answer
   */
  watch?: string;
  /**
   * How many updates a second the server sends at most, from 0.01 to 1,000. The server rejects other values with BAD_INPUT.
   * @default as many as the client reads
   */
  maxRate?: number;
}

export interface StateMapEvents {
  /** A message has come; these keys have changed. A snapshot replaces all keys. */
  change: [keys: string[]];
  /**
   * The server rejects the client with another code than STATE_BUSY; the client tries again after the next connection. Without a
   * listener, it is a warning of the console.
   */
  error: [error: RoomError];
}

/**
 * The newest value of each key of a state room (`gjallar/state`), across reconnections.
 *
 * ```
 * const quotes = new StateMap(socket, 'quotes');
 * quotes.on('change', (keys) => show([...quotes]));
 * ```
 */
export class StateMap<V = unknown> extends Map<string, V> {
  /** @param name the name of the room */
  constructor(socket: Pick<SocketLike, 'on' | 'off' | 'timeout'>, name: string, options?: StateMapOptions);
  /**
   * Whether the whole state has arrived: false before the first snapshot, between the messages of a long one, and while newer
   * values follow because the client has not read for a while.
   */
  isComplete: boolean;
  on<Event extends keyof StateMapEvents>(event: Event, listener: (...values: StateMapEvents[Event]) => void): this;
  off<Event extends keyof StateMapEvents>(event: Event, listener: (...values: StateMapEvents[Event]) => void): this;
  /** Leaves the room, unless another map of the socket follows it. The values stay. */
  close(): void;
}

export interface PresenceMapEvents<Data> {
  /** The users, their data or their number have changed. */
  change: [];
  /** A user is in the room who was not. It is not called for those that are there when the list comes for the first time. */
  join: [user: string, data: Data | undefined];
  /** A user has not been in the room for a second. */
  leave: [user: string, data: Data | undefined];
  /**
   * The server rejects the request for another reason than that the client is not in the room yet. Without a listener, it is a
   * warning of the console.
   */
  error: [error: RoomError];
}

/**
 * The users of a room that this client is in, with their data, across reconnections. The server has `gjallar/presence` with the option
 * `tellsMembers`.
 *
 * ```
 * const users = new PresenceMap(socket, 'hall');
 * users.on('change', () => show(users.isComplete ? [...users.keys()] : users.members));
 * ```
 */
export class PresenceMap<Data = unknown> extends Map<string, Data | undefined> {
  /** @param room the room of Socket.IO, which the server lets the client join, before or after */
  constructor(socket: Pick<SocketLike, 'on' | 'off' | 'timeout'>, room: string);
  /** The number of users. */
  members: number;
  /** Whether the map has all users: false before the server's first answer, and in a room with more than 100 users. */
  isComplete: boolean;
  on<Event extends keyof PresenceMapEvents<Data>>(
    event: Event,
    listener: (...values: PresenceMapEvents<Data>[Event]) => void,
  ): this;
  off<Event extends keyof PresenceMapEvents<Data>>(
    event: Event,
    listener: (...values: PresenceMapEvents<Data>[Event]) => void,
  ): this;
  /** Ends it. The users stay, and the client stays in the room. */
  close(): void;
}
