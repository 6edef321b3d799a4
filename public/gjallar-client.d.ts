/** Where a message stands: `offset` counts the messages of a log from 1 without gaps, `epoch` names the log. */
export interface RoomPosition {
  epoch: string;
  offset: number;
}

export interface RoomMessage extends Partial<RoomPosition> {
  room: string;
  from: string;
  text: string;
  /** When the server took it, in ms since 1970. */
  at: number;
}

export interface Recovery {
  room: string;
  /** How many messages were missing, and have been delivered now. */
  missed: number;
  /** False when some are gone for good. */
  complete: boolean;
  /** Whether this was the first join: then they are what was asked for with `last`. */
  isFirst: boolean;
}

export interface JoinOptions {
  /** Gets each message once, in the order of the room. */
  onMessage?(message: RoomMessage): void;
  /** Called after each join, the first and those after reconnections, before what is missing is delivered. */
  onJoined?(joined: Joined): void;
  /** Called when what was missing has been delivered, after a reconnection or a gap. */
  onRecovered?(recovery: Recovery): void;
  /** Called when the server refuses to let in again after a reconnection, or to tell what is missing. */
  onRefused?(error: RoomError): void;
  /** Deliver so many of the messages from before the first join. @default 0 */
  last?: number;
  /** Go on from here, as {@link Rooms.position} gave it, instead of from the first join. */
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
  /** How many messages are delivered now that were said before; of a log that is new, how many it has. */
  missing: number;
}

/** A request that the server refused, or that got no answer (`code` is then `LOST`). */
export class RoomError extends Error {
  readonly code: string;
  constructor(code: string, message: string);
}

/** What this needs of a Socket of socket.io-client. */
export interface SocketLike {
  // Methods, so that sockets with types of their own events fit.
  on(event: never, listener: never): unknown;
  off(event?: never, listener?: never): unknown;
  timeout(ms: number): object;
}

/**
 * Rooms over a socket of socket.io-client: every message once and in order, through reconnections.
 *
 * The socket stays yours. It comes back by itself after a lost connection, but not after the server has ended it (the
 * end of a token, say: reason `io server disconnect`); connect it again then, and the rooms go on.
 */
export class Rooms {
  constructor(socket: SocketLike);
  /** Joins a room, and joins it again after every reconnection. @throws RoomError */
  join(name: string, options?: JoinOptions): Promise<JoinResult>;
  /** @throws RoomError */
  leave(name: string): Promise<{ ok: true }>;
  /** The last message of a room that was delivered; undefined where there is none. */
  position(name: string): RoomPosition | undefined;
  /** Lets go of the socket, and leaves it connected as it is. */
  close(): void;
}
