import { EventEmitter } from 'node:events';
import type { Namespace } from 'socket.io';
import { GjallarError } from '../errors.js';
import { type MeasuredStateRoom, type StateRoomStats, stateRooms } from '../rooms/stores.js';
import { RoomCore } from './core.js';
import { bytesOf, type Change, KEY_BYTES } from './entries.js';
import { SocketReader, type StateFormat, type StateReader, socketIoFormat } from './members/format.js';
import { type AnySocket, forgetDisconnect, leaveAtDisconnect, Member } from './members/members.js';
import {
  decodeValue,
  type Encoded,
  encodeValue,
  type Joined,
  type JoinOptions,
  merged,
  type StateRoomEvents,
  type StateRoomSettings,
  type StoreSettings,
} from './options.js';
import type { Hub } from './replication/hub.js';
import { keysOf } from './store/fields.js';
import { connectionTo } from './store/hosts.js';
import { RoomStore } from './store/store.js';

const LONE_SURROGATE = /\p{Surrogate}/u;
const MIN_RATE = 0.01;
const MAX_RATE = 1000;

/** A room of newest values; see {@link stateRoom}. */
export class StateRoom extends EventEmitter<StateRoomEvents> implements MeasuredStateRoom {
  private readonly core: RoomCore;
  private readonly bySocket = new Map<AnySocket, Member>();
  private readonly format: StateFormat;
  private closing: Promise<void> | undefined;

  /** @internal Use stateRoom(). */
  constructor(
    nsp: Namespace,
    private readonly hub: Hub,
    /** The name of the room. */
    readonly name: string,
    private readonly settings: StateRoomSettings,
    private readonly onClosed: () => void,
  ) {
    super();
    this.format = socketIoFormat(nsp, this.settings.event);
    const { store } = settings;
    const openStore = store && ((core: RoomCore) => this.openStore(nsp, core, store));
    this.core = new RoomCore(nsp, hub, name, settings, openStore, (keys) => {
      if (this.listenerCount('change') > 0) this.emit('change', keys());
    });
    hub.add(this.core);
    stateRooms.add(this);
  }

  /**
   * Sets a key. The newest value wins, whichever worker it comes from.
   * @param key 1 to `maxKeyLength` bytes
   * @param value JSON, or bytes (an ArrayBuffer, or a view on one such as a Buffer), but not bytes inside of JSON
   * @throws GjallarError BAD_STATE_KEY, BAD_STATE_VALUE, or STATE_FULL; the key then keeps the value that it has
   */
  set(key: string, value: unknown): void {
    this.setEncoded(key, encodeValue(value));
  }

  /**
   * Sets some fields of a key whose value is an object, or that has none yet. The others keep the values that this worker
   * knows ({@link caughtUp}); clients receive the whole value.
   * @throws GjallarError as set(), BAD_STATE_VALUE if the value of the key or `fields` is no object, and STATE_PATCH_SIZE if
   *   the value is larger than `maxPatchBytes` before or after the change
   */
  patch(key: string, fields: Record<string, unknown>): void {
    this.checkKey(key);
    this.setEncoded(key, this.patched(key, fields));
  }

  /** The encoded value that patch() would set. @internal */
  patched(key: string, fields: unknown): Encoded {
    const { maxPatchBytes } = this.settings;
    const before = this.core.entries.get(key)?.value;
    // A short request must not have a worker read and write a value of a megabyte.
    const checked = (value: Encoded) => {
      if (Buffer.byteLength(value) <= maxPatchBytes) return value;
      throw new GjallarError(
        'STATE_PATCH_SIZE',
        `The value of the key is larger than ${maxPatchBytes} bytes, the most that a patch changes. Set the whole value, or ` +
          'spread its fields over several keys.',
      );
    };
    return checked(encodeValue(merged(before && checked(before), fields)));
  }

  /** Bytes of the encoded value of a key; undefined if it has none. @internal */
  sizeOf(key: string): number | undefined {
    const value = this.core.entries.get(key)?.value;
    return value === undefined ? undefined : Buffer.byteLength(value);
  }

  /** Deletes a key. Returns whether this worker knew it. */
  delete(key: string): boolean {
    this.checkKey(key);
    const isKnown = this.core.entries.get(key) !== undefined;
    if (isKnown) this.core.change(key, undefined);
    return isKnown;
  }

  /** A copy of the value of a key; undefined if it has none. */
  get(key: string): unknown {
    const entry = this.core.entries.get(key);
    return entry && decodeValue(entry.value);
  }

  /** All keys with copies of their values, those that were changed last at the end. */
  *entries(): Generator<[key: string, value: unknown]> {
    for (const { key, value } of this.core.entries.present()) yield [key, decodeValue(value)];
  }

  /** All keys, those that were changed last at the end. */
  *keys(): Generator<string> {
    for (const { key } of this.core.entries.present()) yield key;
  }

  /** Bytes of all keys and their encoded values. */
  get bytes(): number {
    return this.core.entries.bytes;
  }

  /**
   * About how many bytes of memory the room takes: its keys and values, the deleted keys that it remembers, and 300 for each
   * of these keys.
   */
  get footprint(): number {
    const { bytes, size, deletedBytes, deletedSize } = this.core.entries;
    return bytes + deletedBytes + KEY_BYTES * (size + deletedSize);
  }

  /** The number of keys. */
  get size(): number {
    return this.core.entries.size;
  }

  /**
   * Sends a socket the state, and from then on what changes, until it leaves or disconnects. A socket that is already in the
   * room starts again, with these options.
   *
   * With the version of an earlier connection it gets only what has changed since. If that is not known any more, it gets
   * a snapshot, whose first message has `meta.snapshot`.
   * @param options may come from the client unchecked: this method does not throw for any value
   */
  join(socket: AnySocket, options: JoinOptions = {}): Joined {
    const joined: Joined = { ok: true, event: this.settings.event, keys: this.size };
    // Nothing would tell the room that the socket is gone.
    if (!socket.connected) return joined;
    const before = this.bySocket.get(socket);
    let member: Member;
    try {
      member = this.admit(new SocketReader(socket), this.format, options);
    } catch (error) {
      if (!(error instanceof GjallarError)) throw error;
      return { ok: false, code: error.code, message: error.message };
    }
    if (before) this.core.members.remove(before);
    this.bySocket.set(socket, member);
    leaveAtDisconnect(socket, this);
    return joined;
  }

  /** Sends a socket no more changes. */
  leave(socket: AnySocket): void {
    const member = this.bySocket.get(socket);
    if (!member) return;
    this.bySocket.delete(socket);
    forgetDisconnect(socket, this);
    this.core.members.remove(member);
  }

  /**
   * Adds a client that is not a socket of socket.io, with a format of its own.
   * @returns takes it out of the room; call it when the client is gone
   * @throws GjallarError with the codes of join()
   */
  joinReader(reader: StateReader, format: StateFormat, options: JoinOptions = {}): () => void {
    const member = this.admit(reader, format, options);
    return () => this.core.members.remove(member);
  }

  /**
   * Resolves once this worker has what the other workers and the store have. That takes at most a few seconds longer
   * than their answers; a Redis that does not answer delays it by 5 s. Members that join earlier wait for it; `get()`
   * and `entries()` do not. It also resolves when the room is closed.
   */
  ready(): Promise<void> {
    return new Promise((resolve) => this.core.whenReady(resolve));
  }

  /**
   * Resolves once this worker has what the other workers had changed before the call. Await it before `patch()` or `get()`
   * if the last change may have been made on another worker. A worker that does not answer is waited for a second.
   */
  caughtUp(): Promise<void> {
    return this.hub.caughtUp();
  }

  /**
   * Resolves once everything that this worker has changed until now is in Redis, which takes as long as Redis is down; at
   * once without a store. Await it before the process ends.
   */
  stored(): Promise<void> {
    return this.core.stored();
  }

  /** What the room counts on this worker. */
  stats(): StateRoomStats {
    const { entries, members } = this.core;
    return {
      keys: entries.size,
      bytes: entries.bytes,
      members: members.size,
      behind: members.behind,
      behindLong: members.behindLong,
      changes: entries.seq,
      conflated: members.conflated,
      savedBytes: Math.round(members.savedBytes),
      unstored: this.core.unstored,
    };
  }

  /** The share of `maxKeys` or `maxBytes` that is in use, whichever is larger: 0 to 1. */
  get fullness(): number {
    const { maxKeys, maxBytes } = this.settings;
    const { size, bytes } = this.core.entries;
    return Math.max(size / maxKeys, bytes / maxBytes);
  }

  /**
   * Ends the room on this worker: members get nothing more. The end of the server, `io.close()`, does the same.
   * @returns resolves once Redis has what this worker has set last, or does not take it; at once without a store
   */
  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private end(): Promise<void> {
    stateRooms.remove(this);
    this.hub.remove(this.core);
    const stored = this.core.close();
    for (const socket of this.bySocket.keys()) forgetDisconnect(socket, this);
    this.bySocket.clear();
    this.onClosed();
    return stored;
  }

  private openStore(nsp: Namespace, core: RoomCore, { redis, keyPrefix }: StoreSettings): RoomStore {
    const { settings, hub, name } = this;
    const room = {
      name,
      settings,
      entries: core.entries,
      keys: keysOf(keyPrefix, nsp.name, name),
      apply: (change: Change) => core.apply(change),
      onStore: (isUp: boolean, reason: string) => {
        if (isUp) this.emit('storeUp');
        else this.emit('storeDown', reason);
      },
    };
    return new RoomStore(room, hub, connectionTo(redis));
  }

  private admit(reader: StateReader, format: StateFormat, options: JoinOptions | null): Member {
    const { version, maxRate } = options ?? {};
    if (maxRate !== undefined && !(typeof maxRate === 'number' && maxRate >= MIN_RATE && maxRate <= MAX_RATE)) {
      throw new GjallarError(
        'BAD_INPUT',
        `maxRate must be a number from ${MIN_RATE} to ${MAX_RATE}, in updates a second.`,
      );
    }
    if (this.closing) throw new GjallarError('BAD_INPUT', `The state room "${this.name}" is closed. Create it again.`);
    if (this.core.members.isCrowded(this.settings.maxBehind)) throw new GjallarError('STATE_BUSY');
    const member = new Member(reader, format, maxRate ? 1000 / maxRate : 0);
    this.core.join(member, version);
    return member;
  }

  private checkKey(key: string): void {
    const { maxKeyLength } = this.settings;
    if (typeof key !== 'string' || key === '' || Buffer.byteLength(key) > maxKeyLength || LONE_SURROGATE.test(key)) {
      throw new GjallarError(
        'BAD_STATE_KEY',
        `Invalid key of a state room. Use a string of 1 to ${maxKeyLength} bytes without lone surrogates.`,
      );
    }
  }

  /** Sets a key if the bounds allow it. @internal @throws GjallarError as set() */
  setEncoded(key: string, value: Encoded): void {
    this.checkKey(key);
    const { maxKeys, maxBytes, maxValueBytes } = this.settings;
    const { name } = this;
    const { entries } = this.core;
    const bytes = bytesOf(key, value);
    if (bytes - Buffer.byteLength(key) > maxValueBytes) {
      throw new GjallarError('BAD_STATE_VALUE', `The value is larger than ${maxValueBytes} bytes (maxValueBytes).`);
    }
    const before = entries.get(key);
    if (!before && entries.size >= maxKeys) {
      throw new GjallarError(
        'STATE_FULL',
        `The state room "${name}" has ${maxKeys} keys (maxKeys). Delete some first.`,
      );
    }
    if (entries.bytes - (before?.bytes ?? 0) + bytes > maxBytes) {
      throw new GjallarError(
        'STATE_FULL',
        `The state room "${name}" would have more than ${maxBytes} bytes (maxBytes). Delete some keys first.`,
      );
    }
    this.core.change(key, value);
  }
}
