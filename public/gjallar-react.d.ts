import type { DurableMessage, RoomError, SocketLike, StateMapOptions } from './gjallar-client.js';

/** What {@link useStateMap} returns. */
export interface StateMapView<V> {
  /** The values by key: the `StateMap`, whose entries change. Its identity does not, so pass single values to memoized components. */
  readonly values: ReadonlyMap<string, V>;
  /** Whether the whole state has arrived. */
  readonly isComplete: boolean;
  /** Why the server rejects the client. */
  readonly error: RoomError | undefined;
}

/** What {@link usePresence} returns. */
export interface PresenceView<Data> {
  /** The users with their data: the `PresenceMap`, whose entries change. */
  readonly users: ReadonlyMap<string, Data | undefined>;
  /** The number of users. */
  readonly members: number;
  /** Whether `users` has all of them: false before the first answer, and in a room with more than 100 users. */
  readonly isComplete: boolean;
  readonly error: RoomError | undefined;
}

/** What {@link useDurableRoom} returns. */
export interface DurableRoomView {
  /** The newest messages, the oldest first. */
  readonly messages: readonly DurableMessage[];
  /** Whether the client has entered the room. */
  readonly isJoined: boolean;
  /** False once messages are lost that the client has missed. */
  readonly isComplete: boolean;
  /** Why the server rejects the client. */
  readonly error: RoomError | undefined;
}

export interface DurableRoomOptions {
  /** How many earlier messages are read. That of the first component of a room counts. @default 50 */
  readonly last?: number;
  /** How many messages are kept, of which the oldest go. That of the first component of a room counts. @default 1,000 */
  readonly maxMessages?: number;
}

/**
 * Renders with the values of a state room (`gjallar/state`), and again with each change. Components of the same socket share one
 * `StateMap`, which is closed when the last of them is gone.
 *
 * ```
 * const { values, isComplete } = useStateMap<Quote>(socket, 'quotes');
 * ```
 * @param socket of socket.io-client; until there is one, undefined
 */
export function useStateMap<V = unknown>(
  socket: SocketLike | undefined,
  name: string,
  options?: StateMapOptions,
): StateMapView<V>;

/**
 * Renders with the users of a room that the client is in (`gjallar/presence` with `tellsMembers`), and again with each change.
 * @param socket as of {@link useStateMap}
 */
export function usePresence<Data = unknown>(socket: SocketLike | undefined, room: string): PresenceView<Data>;

/**
 * Enters a durable room (`gjallar/history`), and renders with each of its messages, also those that the client has missed. The client
 * leaves the room when the last component is gone.
 * @param socket as of {@link useStateMap}; use no `DurableRooms` of your own for the same room
 */
export function useDurableRoom(
  socket: SocketLike | undefined,
  room: string,
  options?: DurableRoomOptions,
): DurableRoomView;
