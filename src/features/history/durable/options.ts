import { GjallarError } from '../../../base/errors.js';
import { callback, either, integer, list, type Row, row, text, type Values, value } from '../../../base/options.js';
import type { AnySocket } from '../../../io/any.js';
import type { PostResult } from '../conversations/conversations.js';
import { type HistoryStore, limitOptions, type Page, type PageQuery } from '../store.js';

/** Which rooms are durable, where their messages are kept, and who may enter them. `Data` is the type of `socket.data`. */
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own default
export interface DurableRoomsOptions<Data = any> {
  /**
   * Names of durable rooms, of at most 512 characters. `*` stands for any characters, as in `order:*`; each name needs
   * other characters too.
   */
  readonly rooms: string | readonly string[];
  /**
   * Where messages are kept. Several machines need a store that they share, such as `RedisHistoryStore`. Set either
   * `store` or `dataDir`.
   */
  readonly store?: HistoryStore;
  /** The folder of a SQLite file on this machine, which all its workers share. Set either `store` or `dataDir`. */
  readonly dataDir?: string;
  /**
   * Whether a client may enter a room with the helper `DurableRooms` of `gjallar/client`. Otherwise, the helper
   * gets ROOM_FORBIDDEN. @default a client can only follow rooms in which the application has put it
   */
  readonly mayJoin?: (socket: AnySocket<Data>, room: string) => boolean | Promise<boolean>;
  /**
   * How many bytes one message may have when it is encoded. Beyond it, `emit()` rejects with MESSAGE_TOO_LARGE.
   * @default 256 KiB
   */
  readonly maxMessageBytes?: number;
  /**
   * How many durable rooms a client may be in. With this number, entering another one with the helper is answered with
   * TOO_MANY_ROOMS. @default 100
   */
  readonly maxRooms?: number;
  /** How long a message is kept, in ms. Applies with `dataDir`. @default 24 hours */
  readonly ttlMs?: number;
  /**
   * How many messages of a room are kept. Beyond it, the oldest are removed. Applies with `dataDir`. @default 10,000
   */
  readonly maxMessages?: number;
  /**
   * How many bytes the messages in the file may take. Beyond it, the oldest of all rooms are removed. Applies with
   * `dataDir`. @default 1 GiB
   */
  readonly maxBytes?: number;
  /**
   * Called if a message of `io.to(room).emit()` is not kept, and if a store fails or has lost messages. The error of a store
   * has a `code` such as `REDIS_UNREACHABLE`, and comes once for each outage. `room` is empty if the failure concerns no
   * single room. @default a warning of the process, at most one in 10 s for each kind of error
   */
  readonly onError?: (error: unknown, room: string) => void;
}

/** How one message is sent. */
export interface PostOptions {
  /**
   * Idempotency key. A repeated message with the same key is not kept again, and resolves with the position of the first
   * one. If `emit()` rejects with `HISTORY_UNCERTAIN`, repeat the message with its key.
   */
  readonly key?: string;
}

/** The events of rooms, by name, as in the types of socket.io. */
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own type for any events
export type EventsMap = Record<string, (...values: any[]) => void>;

/** An event of a durable room as its readers get it. Without `event`, it was erased, or cannot be read. */
export interface KeptEvent {
  readonly room: string;
  readonly offset: number;
  readonly tag: number;
  readonly event?: string;
  readonly values?: readonly unknown[];
  readonly deleted?: true;
}

export type KeptPage = Omit<Page, 'messages'> & { messages: KeptEvent[] };

/** The durable rooms of a namespace on this worker. */
export interface DurableRooms<Events extends object = EventsMap> {
  /**
   * Names the room that `emit()` sends an event to. `emit()` resolves with the position once the event is kept. Members on all
   * workers and machines get it in the order of the positions, also those that are offline, if they return in time.
   *
   * `emit()` rejects with GjallarError BAD_ROOM, BAD_INPUT, MESSAGE_TOO_LARGE or OVERLOADED; HISTORY_REFUSED or
   * HISTORY_UNAVAILABLE if nothing is kept, and HISTORY_UNCERTAIN if that is not known.
   */
  to(
    room: string,
    options?: PostOptions,
  ): {
    emit<Event extends keyof Events & string>(event: Event, ...values: ValuesOf<Events[Event]>): Promise<PostResult>;
  };
  /**
   * Reads a page of events of a room, as `read()` of the store.
   * @throws GjallarError BAD_ROOM if the room is not durable, BAD_PAGE without a query, OVERLOADED if too many reads
   *   wait; HistoryError if the store cannot be reached
   */
  read(room: string, query: PageQuery): Promise<KeptPage>;
  /** Ends the durable rooms: messages are sent as before, and not kept. A store of the application stays open. */
  close(): Promise<void>;
}

type ValuesOf<Listener> = Listener extends (...values: infer Values) => void ? Values : never;

const store = value<HistoryStore>(
  'a history store, such as await RedisHistoryStore.open({ redis: "redis://localhost" })',
  (given) => 'append' in given && 'read' in given && 'trim' in given,
);

/** What {@link DurableRoomsOptions} accept. */
export const durableOptions = {
  ...limitOptions,
  rooms: row(either(text(), list('a list of names', text()))),
  store: row(store),
  dataDir: row(text('a path', /./)),
  mayJoin: row(callback<NonNullable<DurableRoomsOptions['mayJoin']>>()),
  maxMessageBytes: row(integer(1, undefined, 'bytes'), 256 * 1024),
  maxRooms: row(integer(0), 100),
  maxMessages: row(integer(1), 10_000),
  maxBytes: row(integer(1, undefined, 'bytes'), 1024 ** 3),
  onError: row(callback<NonNullable<DurableRoomsOptions['onError']>>()),
} satisfies { readonly [K in keyof DurableRoomsOptions]-?: Row };

export type DurableRoomsSettings = Values<typeof durableOptions> & Pick<DurableRoomsOptions, 'rooms'>;

/** In UTF-16 characters. The store adds the namespace, and writes UTF-8, in which lone surrogates would all be one name. */
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
    typeof room === 'string' &&
    room.length <= MAX_ROOM_NAME &&
    room.isWellFormed() &&
    patterns.some((pattern) => pattern.test(room));
}
