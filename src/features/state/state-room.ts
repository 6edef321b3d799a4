import type { Listened } from '../../base/listeners.js';
import type { AnySocket } from '../../io/any.js';
import type { StateFormat, StateReader } from './members/format.js';
import type { Joined, JoinOptions, SetOptions } from './options.js';

/** The events of a room for the application. */
export interface StateRoomEvents {
  /** Keys have changed, here or on another worker. At most one per window. */
  change: [keys: string[]];
  /** The room cannot be stored in Redis. The worker keeps trying. */
  storeDown: [reason: string];
  /** The room is stored again, and nothing is missing. */
  storeUp: [];
}

/** Fields to change, as in RFC 7396: null deletes a field. */
export type StatePatch<Value> = unknown extends Value
  ? Record<string, unknown>
  : Value extends readonly unknown[] | ArrayBuffer | ArrayBufferView
    ? Value
    : Value extends object
      ? { [Field in keyof Value]?: StatePatch<Value[Field]> | null }
      : Value;

/** What a state room counts. */
export interface StateRoomStats {
  keys: number;
  /** Bytes of all keys and their encoded values. */
  bytes: number;
  /** Members on this worker. */
  members: number;
  /** Members of this worker that lack changes that the other members have received. */
  behind: number;
  /** Members of this worker without `maxRate` that have been behind for more than 30 s. */
  behindLong: number;
  /** Changes since the start, including those of other workers. */
  changes: number;
  /** Changes that members of this worker did not receive because a later change replaced them, summed over all members. */
  conflated: number;
  /** About how many bytes `conflated` has saved. */
  savedBytes: number;
  /** Keys that this worker has changed and not stored yet; 0 without a store. */
  unstored: number;
}

/** A room of newest values; see `createStateRoom()`. */
export interface StateRoom<Value = unknown> extends Listened<StateRoomEvents> {
  /** The name of the room. */
  readonly name: string;
  /** The number of keys. */
  readonly size: number;
  /** Bytes of all keys and their encoded values. */
  readonly bytes: number;
  /** The share of `maxKeys` or `maxBytes` that is in use, whichever is larger: 0 to 1. */
  readonly fullness: number;

  /**
   * Sets a key. The newest value wins, whichever worker it comes from.
   * @param key 1 to 256 bytes
   * @param value JSON, or bytes (an ArrayBuffer, or a view on one such as a Buffer), but not bytes inside of JSON
   * @throws GjallarError BAD_STATE_KEY, BAD_STATE_VALUE, STATE_FULL, or BAD_INPUT; the key then keeps the value that it has
   */
  set(key: string, value: Value, options?: SetOptions): void;

  /**
   * Changes fields of a key whose value is an object, or that has none yet, as in RFC 7396: null deletes a field. The other fields
   * keep what any worker of the machine has set before, and the key keeps its ttl; clients receive the whole value. Until the room is
   * ready, the call waits: `get` has the change afterwards.
   * @returns resolves once it is done, and rejects with the codes below if another worker has changed the key meanwhile, or if the
   *   call had to wait; with OVERLOADED if more than `maxBytes` wait
   * @throws GjallarError as set(), BAD_STATE_VALUE if the value of the key or `fields` is no object, and STATE_PATCH_SIZE if
   *   the value is larger than 65,536 bytes before or after the change
   */
  patch(key: string, fields: StatePatch<Value>): Promise<void>;

  /**
   * Sets a key if it has the expected value, compared as JSON: no other worker of the machine can change it in between.
   * As with set(), the key has no ttl afterwards unless `options` have one.
   * @param expected undefined for no such key
   * @param value undefined to delete the key
   * @returns whether it was set
   * @throws GjallarError as set(), and STATE_PATCH_SIZE if the value must be compared and is larger than 65,536 bytes;
   *   OVERLOADED if the hub ends before it answers
   */
  compareAndSet(
    key: string,
    expected: Value | undefined,
    value: Value | undefined,
    options?: SetOptions,
  ): Promise<boolean>;

  /** Deletes a key. Returns whether this worker knew it. */
  delete(key: string): boolean;
  /** A copy of the value of a key; undefined if it has none. */
  get(key: string): Value | undefined;
  /** Bytes of the encoded value of a key; undefined if it has none. */
  sizeOf(key: string): number | undefined;
  /** All keys with copies of their values, those that were changed last at the end. */
  entries(): IterableIterator<[key: string, value: Value]>;
  /** All keys, those that were changed last at the end. */
  keys(): IterableIterator<string>;

  /**
   * Sends a socket the state, and from then on what changes, until it leaves or disconnects. A socket that is already in the
   * room starts again, with these options.
   *
   * With the version of an earlier connection it gets only what has changed since. If that is not known any more, it gets
   * a snapshot, whose first message has `meta.snapshot`. It checks no rights: `mayJoin` concerns only clients that join by
   * themselves.
   * @param options may come from the client unchecked: this method does not throw for any value
   */
  join(socket: AnySocket, options?: JoinOptions): Joined;
  /**
   * Adds a client that is no socket of Socket.IO, such as a plain WebSocket, with a format of its own.
   * @returns takes it out of the room; call it when the client is gone
   * @throws GjallarError with the codes of join()
   */
  joinReader(reader: StateReader, format: StateFormat, options?: JoinOptions): () => void;
  /** Sends a socket no more changes. */
  leave(socket: AnySocket): void;

  /**
   * Resolves once this worker has what the machine, the other machines and the store have. That takes at most a few seconds
   * longer than their answers; a Redis that does not answer delays it by 5 s. Members that join earlier wait for it; `get()`
   * and `entries()` do not. It also resolves when the room is closed.
   */
  ready(): Promise<void>;
  /**
   * Resolves once this worker has what the other workers had changed before the call. It costs one question to the hub, which asks
   * those of other machines for at most a second. Await it before `get()` if the last change may have been made on another worker.
   * Until the room is ready, it waits for that, too.
   */
  caughtUp(): Promise<void>;
  /**
   * Resolves once everything that this worker has changed until now is in Redis, which takes as long as Redis is down; at
   * once without a store. Await it before the process ends.
   */
  stored(): Promise<void>;
  /** What the room counts on this worker. */
  stats(): StateRoomStats;
  /**
   * Ends the room on this worker: members get nothing more. The end of the server, `io.close()`, does the same.
   * @returns resolves once Redis has what this worker has set last, or does not take it; at once without a store
   */
  close(): Promise<void>;
}

/** A change as the application sees it: a key and its value, or the key alone if it was deleted. */
export type StateChange<Value = unknown> = [key: string, value: Value] | [key: string];

/** What a client is told with its changes. */
export interface StateMeta {
  /** Pass it to `join()` after a reconnection to get only what has changed since. */
  version: string;
  /** Set on the first message of a snapshot: keys that the client has from before count no more. */
  snapshot?: true;
  /** Set if more changes follow at once: what the client has is not complete yet. */
  more?: true;
  /**
   * Acknowledge it with the event `state:ack` and `{ [event]: mark }`, as `StateMap` does. The server sends marks to a client that
   * has sent `{ [event]: 0 }` after it has joined. It then sends no more than the client reads, and so the newest values.
   * `{ [event]: -1 }` ends that.
   */
  mark?: number;
}
