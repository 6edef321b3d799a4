import { EventEmitter } from 'node:events';
import type { Namespace } from 'socket.io';
import { GjallarError } from '../../base/errors.js';
import { thisProcess } from '../../base/process.js';
import { type MeasuredStateRoom, type StateRoomStats, stateRooms } from '../../io/rooms/stores.js';
import { RoomCore } from './core.js';
import { bytesOf, KEY_BYTES } from './entries.js';
import { SocketReader, type StateFormat, type StateReader, socketIoFormat } from './members/format.js';
import { Member } from './members/members.js';
import { type AnySocket, listenFor, listenNoMore } from './members/sockets.js';
import {
  type Joined,
  type JoinOptions,
  requireRate,
  type SetOptions,
  type StateRoomEvents,
  type StateRoomSettings,
} from './options.js';
import type { SequencerClient } from './replica/client.js';
import { StoreReports } from './replica/store-reports.js';
import type { StoreNews } from './sequencer/messages.js';
import { storeAddressOf } from './sequencer/store/address.js';
import { decodeValue, type Encoded, encodeValue, patchedValue } from './values.js';

const LONE_SURROGATE = /\p{Surrogate}/u;
/** A year. */
const MAX_TTL_MS = 31_536_000_000;

/** A room of newest values; see {@link stateRoom}. */
export class StateRoom extends EventEmitter<StateRoomEvents> implements MeasuredStateRoom {
  private readonly core: RoomCore;
  private readonly bySocket = new Map<AnySocket, Member>();
  private readonly format: StateFormat;
  private readonly store: StoreReports | undefined;
  private isStoreDown = false;
  private closing: Promise<void> | undefined;

  /** @internal Use stateRoom(). */
  constructor(
    nsp: Namespace,
    client: SequencerClient,
    /** The name of the room. */
    readonly name: string,
    private readonly settings: StateRoomSettings,
    private readonly onClosed: (ended: Promise<void>) => void,
  ) {
    super();
    this.format = socketIoFormat(nsp, settings.event);
    const { maxKeys, maxBytes, maxValueBytes, maxPatchBytes, store: stored } = settings;
    const store = stored && storeAddressOf(stored, nsp.name, name, client.isLocal);
    if (store) this.store = StoreReports.of(store);
    this.store?.add(this);
    this.core = new RoomCore(
      nsp,
      name,
      client,
      {
        id: `${thisProcess.numberOf?.(nsp.server) ?? 0}\x1e${nsp.name}\x1e${name}`,
        bounds: { maxKeys, maxBytes, maxValueBytes, maxPatchBytes },
        store,
      },
      {
        onChange: (keys) => {
          if (this.listenerCount('change') > 0) this.emit('change', keys());
        },
        onStore: (news) => this.onStore(news),
      },
    );
    stateRooms.add(this);
  }

  /**
   * Sets a key. The newest value wins, whichever worker it comes from.
   * @param key 1 to `maxKeyLength` bytes
   * @param value JSON, or bytes (an ArrayBuffer, or a view on one such as a Buffer), but not bytes inside of JSON
   * @throws GjallarError BAD_STATE_KEY, BAD_STATE_VALUE, STATE_FULL, or BAD_INPUT; the key then keeps the value that it has
   */
  set(key: string, value: unknown, options?: SetOptions): void {
    this.setEncoded(key, encodeValue(value), expiryOf(options));
  }

  /**
   * Changes fields of a key whose value is an object, or that has none yet, as in RFC 7396: null deletes a field. The other fields
   * keep what any worker of the machine has set before; clients receive the whole value.
   * @returns resolves once it is done, and rejects with the codes below if another worker has changed the key meanwhile
   * @throws GjallarError as set(), BAD_STATE_VALUE if the value of the key or `fields` is no object, and STATE_PATCH_SIZE if
   *   the value is larger than `maxPatchBytes` before or after the change
   */
  patch(key: string, fields: Record<string, unknown>): Promise<void> {
    this.checkKey(key);
    return this.patchTo(key, fields, this.patched(key, fields));
  }

  /** As patch(), with the value that patched() has just returned. @internal @throws as patch() */
  patchTo(key: string, fields: Record<string, unknown>, patched: string): Promise<void> {
    this.checkKey(key);
    this.checkPlace(key, patched);
    const done = this.core.patch(key, this.encodedFields(fields), patched);
    // Whoever does not wait for it has seen all errors that this worker knows.
    done.catch(() => {});
    return done;
  }

  private encodedFields(fields: unknown): string {
    const encoded = encodeValue(fields) as string;
    if (Buffer.byteLength(encoded) > this.settings.maxPatchBytes) throw new GjallarError('STATE_PATCH_SIZE');
    return encoded;
  }

  /** The encoded value that patch() would set here. @internal @throws as patch() */
  patched(key: string, fields: unknown): string {
    const { maxPatchBytes } = this.settings;
    const patched = patchedValue(this.core.overlay.get(key), fields, maxPatchBytes);
    if (typeof patched === 'object') return encodeValue(JSON.parse(patched.value)) as string;
    if (patched === 'BAD_STATE_VALUE') {
      throw new GjallarError(patched, 'patch() changes fields of an object. Use set() for any other value.');
    }
    throw new GjallarError(
      patched,
      `The value of the key is larger than ${maxPatchBytes} bytes, the most that a patch changes. Set the whole value, or ` +
        'spread its fields over several keys.',
    );
  }

  /**
   * Sets a key if it has the expected value, compared as JSON: no other worker of the machine can change it in between.
   * @param expected undefined for no such key
   * @param value undefined to delete the key
   * @returns whether it was set
   * @throws GjallarError as set(), and STATE_PATCH_SIZE if the value must be compared and is larger than `maxPatchBytes`;
   *   OVERLOADED if the hub ends before it answers
   */
  async compareAndSet(key: string, expected: unknown, value: unknown, options?: SetOptions): Promise<boolean> {
    this.checkKey(key);
    const encoded = value === undefined ? undefined : encodeValue(value);
    if (encoded !== undefined) this.checkPlace(key, encoded);
    const before = expected === undefined ? undefined : encodeValue(expected);
    return this.core.compareAndSet(key, before, encoded, expiryOf(options));
  }

  /** Bytes of the encoded value of a key; undefined if it has none. @internal */
  sizeOf(key: string): number | undefined {
    const value = this.core.overlay.get(key);
    return value === undefined ? undefined : Buffer.byteLength(value);
  }

  /** Deletes a key. Returns whether this worker knew it. */
  delete(key: string): boolean {
    this.checkKey(key);
    const isKnown = this.core.overlay.get(key) !== undefined;
    if (isKnown) this.core.change(key, undefined);
    return isKnown;
  }

  /** A copy of the value of a key; undefined if it has none. */
  get(key: string): unknown {
    const value = this.core.overlay.get(key);
    return value === undefined ? undefined : decodeValue(value);
  }

  /** All keys with copies of their values, those that were changed last at the end. */
  *entries(): Generator<[key: string, value: unknown]> {
    for (const [key, value] of this.core.overlay.present()) yield [key, decodeValue(value)];
  }

  /** All keys, those that were changed last at the end. */
  *keys(): Generator<string> {
    for (const [key] of this.core.overlay.present()) yield key;
  }

  /** Bytes of all keys and their encoded values. */
  get bytes(): number {
    return this.core.overlay.bytes;
  }

  /**
   * About how many bytes of memory the room takes: its keys and values, the deleted keys that it remembers, and 300 for each
   * of these keys.
   */
  get footprint(): number {
    const { entries, overlay } = this.core;
    const deleted = entries.deletedSize + overlay.deletedSize;
    return overlay.bytes + entries.deletedBytes + overlay.deletedBytes + KEY_BYTES * (overlay.size + deleted);
  }

  /** The number of keys. */
  get size(): number {
    return this.core.overlay.size;
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
    if (before) {
      this.core.members.remove(before);
      member.marks = before.marks;
    }
    this.bySocket.set(socket, member);
    listenFor(socket, this);
    return joined;
  }

  /** Sends a socket no more changes. */
  leave(socket: AnySocket): void {
    const member = this.bySocket.get(socket);
    if (!member) return;
    this.bySocket.delete(socket);
    listenNoMore(socket, this);
    this.core.members.remove(member);
  }

  /** @internal */
  acknowledge(socket: AnySocket, marks: Readonly<Record<string, unknown>>): void {
    const mark = marks[this.settings.event];
    const member = this.bySocket.get(socket);
    if (member && typeof mark === 'number') this.core.members.acknowledge(member, mark);
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
   * Resolves once this worker has what the machine, the other machines and the store have. That takes at most a few seconds
   * longer than their answers; a Redis that does not answer delays it by 5 s. Members that join earlier wait for it; `get()`
   * and `entries()` do not. It also resolves when the room is closed.
   */
  ready(): Promise<void> {
    return new Promise((resolve) => this.core.whenReady(resolve));
  }

  /**
   * Resolves once this worker has what the other workers had changed before the call. It costs one question to the hub, which asks
   * those of other machines for at most a second. Await it before `get()` if the last change may have been made on another worker.
   */
  caughtUp(): Promise<void> {
    return this.core.caughtUp();
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
    const { changes, members } = this.core;
    return {
      keys: this.size,
      bytes: this.bytes,
      members: members.size,
      behind: members.behind,
      behindLong: members.behindLong,
      changes,
      conflated: members.conflated,
      savedBytes: Math.round(members.savedBytes),
      unstored: this.core.unstored,
    };
  }

  /** The share of `maxKeys` or `maxBytes` that is in use, whichever is larger: 0 to 1. */
  get fullness(): number {
    const { maxKeys, maxBytes } = this.settings;
    const { size, bytes } = this;
    return Math.max(size / maxKeys, bytes / maxBytes);
  }

  /**
   * Ends the room on this worker: members get nothing more. The end of the server, `io.close()`, does the same.
   * @returns resolves once Redis has what this worker has set last, or does not take it; at once without a store
   */
  close(): Promise<void> {
    if (!this.closing) {
      this.closing = this.end();
      this.onClosed(this.closing);
    }
    return this.closing;
  }

  private async end(): Promise<void> {
    stateRooms.remove(this);
    const closed = this.core.close();
    for (const socket of this.bySocket.keys()) listenNoMore(socket, this);
    this.bySocket.clear();
    const unwritten = await closed;
    this.store?.remove(this, unwritten);
  }

  private onStore(news: StoreNews): void {
    this.store?.heard(this, news);
    const isDown = news.down !== undefined;
    if (isDown === this.isStoreDown) return;
    this.isStoreDown = isDown;
    if (isDown) this.emit('storeDown', news.down!);
    else this.emit('storeUp');
  }

  private admit(reader: StateReader, format: StateFormat, options: JoinOptions | null): Member {
    const { version, maxRate } = options ?? {};
    requireRate(maxRate);
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
  setEncoded(key: string, value: Encoded, expires?: number): void {
    this.checkKey(key);
    this.checkPlace(key, value);
    this.core.change(key, value, expires);
  }

  private checkPlace(key: string, value: Encoded): void {
    const { maxKeys, maxBytes, maxValueBytes } = this.settings;
    const { name, size } = this;
    const bytes = bytesOf(key, value);
    if (bytes - Buffer.byteLength(key) > maxValueBytes) {
      throw new GjallarError('BAD_STATE_VALUE', `The value is larger than ${maxValueBytes} bytes (maxValueBytes).`);
    }
    const before = this.core.overlay.sizeOf(key);
    if (before === undefined && size >= maxKeys) {
      throw new GjallarError(
        'STATE_FULL',
        `The state room "${name}" has ${maxKeys} keys (maxKeys). Delete some first.`,
      );
    }
    if (this.bytes - (before ?? 0) + bytes > maxBytes) {
      throw new GjallarError(
        'STATE_FULL',
        `The state room "${name}" would have more than ${maxBytes} bytes (maxBytes). Delete some keys first.`,
      );
    }
  }
}

/** @throws GjallarError BAD_INPUT */
function expiryOf({ ttl }: SetOptions = {}): number | undefined {
  if (ttl === undefined) return undefined;
  if (typeof ttl === 'number' && ttl >= 1 && ttl <= MAX_TTL_MS) return Date.now() + ttl;
  throw new GjallarError('BAD_INPUT', `ttl must be a number from 1 to ${MAX_TTL_MS}, in milliseconds.`);
}
