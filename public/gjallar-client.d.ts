/** The position of a message: `offset` counts the messages of a log from 1 without gaps, `epoch` names the log. */
export interface RoomPosition {
  epoch: string;
  offset: number;
}

export interface RoomMessage extends Partial<RoomPosition> {
  room: string;
  from: string;
  text: string;
  /** When the server accepted the message, in ms since 1970. */
  at: number;
}

export interface Recovery {
  room: string;
  /** Number of missed messages that have now been delivered. */
  missed: number;
  /** False if some missed messages no longer exist. */
  complete: boolean;
  /** Whether this was the first join: the messages are then those that `last` requested. */
  isFirst: boolean;
}

export interface JoinOptions {
  /** Called with each message once, in the order of the room. */
  onMessage?(message: RoomMessage): void;
  /** Called after the first join and after each reconnection, before missed messages are delivered. */
  onJoined?(joined: Joined): void;
  /** Called when missed messages have been delivered, after a reconnection or a gap. */
  onRecovered?(recovery: Recovery): void;
  /** Called if, after a reconnection, the server rejects the join or the request for missed messages. */
  onRefused?(error: RoomError): void;
  /** Number of messages from before the first join to deliver. @default 0 */
  last?: number;
  /** Continue from this position, which {@link Rooms.position} returned earlier, instead of from the first join. */
  position?: RoomPosition;
}

export interface JoinResult extends Partial<RoomPosition> {
  ok: true;
  room: string;
  members: number;
  worker: number;
}

export interface Joined extends JoinResult {
  /** Whether this was the first join. */
  isFirst: boolean;
  /** Number of earlier messages that are delivered now; for a new log, the number of its messages. */
  missing: number;
}

/** The server rejected a request, or did not answer it (`code` is then `LOST`). */
export class RoomError extends Error {
  readonly code: string;
  constructor(code: string, message: string);
}

/** The part of socket.io-client's Socket that {@link Rooms} uses. */
export interface SocketLike {
  // Methods, so that sockets with typed events are assignable.
  on(event: never, listener: never): unknown;
  off(event?: never, listener?: never): unknown;
  timeout(ms: number): object;
}

/**
 * Rooms over a socket of socket.io-client: every message arrives once and in order, across reconnections.
 *
 * You keep control of the socket. It reconnects by itself after a lost connection, but not after the server has ended the
 * connection, for example because a token expired (reason `io server disconnect`). Connect it again, and the rooms resume.
 */
export class Rooms {
  constructor(socket: SocketLike);
  /** Joins a room, and joins it again after every reconnection. @throws RoomError */
  join(name: string, options?: JoinOptions): Promise<JoinResult>;
  /** @throws RoomError */
  leave(name: string): Promise<{ ok: true }>;
  /** The position of the last delivered message of a room; undefined if there is none. */
  position(name: string): RoomPosition | undefined;
  /** Removes all listeners from the socket, and leaves its connection as it is. */
  close(): void;
}
