import type { Socket } from 'socket.io';
import { GjallarError } from '../../errors.js';
import type { HistoryStore } from '../store.js';

// biome-ignore lint/suspicious/noExplicitAny: socket.io's own types for servers with any events
export type AnySocket = Socket<any, any, any, any>;

/** Which rooms are durable, where their messages are kept, and who may enter them. */
export interface DurableRoomsOptions {
  /** Names of rooms. `*` stands for any characters, as in `order:*`; a name must have others besides. */
  readonly rooms: string | readonly string[];
  /** Where messages are kept. Several machines need a store that they share, such as `RedisHistoryStore`. */
  readonly store?: HistoryStore;
  /** Without a `store`: the folder of a SQLite file on this machine, which all its workers share. */
  readonly dataDir?: string;
  /**
   * Whether a client may enter a room with the helper `DurableRooms` of `gjallar/client`. Without it, a client can only
   * follow rooms in which the application has put it.
   */
  readonly mayJoin?: (socket: AnySocket, room: string) => boolean | Promise<boolean>;
  /** How many bytes one message may have when it is encoded. @default 256 KiB */
  readonly maxMessageBytes?: number;
  /** How many durable rooms a client may enter with the helper. @default 100 */
  readonly maxRooms?: number;
  /** With `dataDir`: how long a message is kept, in ms. @default 24 hours */
  readonly ttlMs?: number;
  /** With `dataDir`: how many messages of a room are kept. @default 10,000 */
  readonly maxMessages?: number;
  /** With `dataDir`: how many bytes the file may have before the oldest messages are removed. @default 1 GiB */
  readonly maxBytes?: number;
  /**
   * Called if a message of `io.to(room).emit()` is not kept, and if a store fails.
   * @default a warning of the process, at most one in 10 s for each kind of error
   */
  readonly onError?: (error: unknown, room: string) => void;
}

export const defaults = {
  maxMessageBytes: 256 * 1024,
  maxRooms: 100,
  maxMessages: 10_000,
  maxBytes: 1024 ** 3,
} as const;

/** In UTF-16 characters. The store adds the namespace. */
const MAX_ROOM_NAME = 512;

/**
 * @returns whether a room is durable
 * @throws GjallarError BAD_INPUT for a pattern that matches every room, those of single sockets included
 */
export function matcherOf(rooms: string | readonly string[]): (room: unknown) => room is string {
  const patterns = [rooms].flat().map((pattern) => {
    if (!/[^*]/.test(pattern)) {
      throw new GjallarError('BAD_INPUT', `A durable room cannot be named "${pattern}". Use a name such as "order:*".`);
    }
    const escaped = pattern.split(/\*+/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${escaped.join('.*')}$`, 's');
  });
  return (room): room is string =>
    typeof room === 'string' && room.length <= MAX_ROOM_NAME && patterns.some((pattern) => pattern.test(room));
}
