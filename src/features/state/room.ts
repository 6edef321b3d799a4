import type { Namespace } from 'socket.io';
import { GjallarError } from '../../base/errors.js';
import { Listeners } from '../../base/listeners.js';
import { joinTexts } from '../../base/names.js';
import { MAX_TIMER_MS } from '../../base/options.js';
import { thisProcess } from '../../base/process.js';
import type { AnySocket } from '../../io/any.js';
import { keyBytesOf } from './entries.js';
import { SocketReader, type StateFormat, type StateReader, socketIoFormat } from './members/format.js';
import { Member } from './members/members.js';
import { StatePublisher } from './members/publisher.js';
import { listenFor, listenNoMore } from './members/sockets.js';
import { openRooms } from './open-rooms.js';
import { type Joined, type JoinOptions, requireRate, type SetOptions, type StateRoomSettings } from './options.js';
import type { SequencerClient } from './replica/client.js';
import type { Overlay } from './replica/overlay.js';
import { type Lasting, Replica } from './replica/replica.js';
import { StoreReports } from './replica/store-reports.js';
import type { StoreNews } from './sequencer/messages.js';
import { storeAddressOf } from './sequencer/store/address.js';
import type { StateRoom, StateRoomEvents, StateRoomStats } from './state-room.js';
import { decodeValue, type Encoded, encodeValue, MAX_PATCH_BYTES, MAX_VALUE_BYTES, patchedValue } from './values.js';

/** Holds the process open: an application that awaits an answer before it listens may have nothing else that does. */
async function heldOpen<Result>(answer: Promise<Result>): Promise<Result> {
  const timer = setInterval(() => {}, MAX_TIMER_MS);
  try {
    return await answer;
  } finally {
    clearInterval(timer);
  }
}

const LONE_SURROGATE = /\p{Surrogate}/u;
/** In UTF-8. */
const MAX_KEY_BYTES = 256;
/** How many members of a worker may be behind. Clients that join later are answered STATE_BUSY. */
const MAX_BEHIND = 100_000;
/** A year. */
const MAX_TTL_MS = 31_536_000_000;

/** A state room on this worker. */
export class LocalStateRoom extends Listeners<StateRoomEvents> implements StateRoom {
  private readonly replica: Replica;
  private readonly publisher: StatePublisher;
  private readonly bySocket = new Map<AnySocket, Member>();
  private readonly format: StateFormat;
  private readonly store: StoreReports | undefined;
  private isStoreDown = false;
  private closing: Promise<void> | undefined;
  /** Bytes of patches that wait until the room is ready. */
  private waitingBytes = 0;

  constructor(
    nsp: Namespace,
    client: SequencerClient,
    readonly name: string,
    private readonly settings: StateRoomSettings,
    private readonly onClosed: (ended: Promise<void>) => void,
  ) {
    super();
    this.format = socketIoFormat(nsp, settings.event);
    const { maxKeys, maxBytes, store: stored } = settings;
    const store = stored && storeAddressOf(stored, nsp.name, name, client.isLocal);
    if (store) this.store = StoreReports.of(store);
    this.store?.add(this);
    const id = joinTexts(String(thisProcess.numberOf?.(nsp.server) ?? 0), nsp.name, name);
    this.replica = new Replica(
      client,
      { id, bounds: { maxKeys, maxBytes }, store },
      {
        onChanges: () => this.publisher.hold(),
        onRenewed: (before) => this.publisher.renewed(before),
        onStore: (news) => this.onStore(news),
      },
    );
    this.publisher = new StatePublisher(nsp, name, this.replica, (keys) => {
      if (this.hasListeners('change')) this.tell('change', keys());
    });
    this.replica.open();
    openRooms.add(this);
  }

  private get overlay(): Overlay {
    return this.replica.overlay;
  }

  set(key: string, value: unknown, options?: SetOptions): void {
    const encoded = encodeValue(value);
    const lasting = this.lastingOf(options);
    this.checkKey(key);
    this.checkPlace(key, encoded);
    this.replica.change(key, encoded, lasting);
  }

  patch(key: string, fields: Record<string, unknown>): Promise<void> {
    this.checkKey(key);
    // The rest of the value was checked when it was set.
    const encoded = encodeValue(fields);
    if (Buffer.byteLength(encoded) > MAX_PATCH_BYTES) throw new GjallarError('STATE_PATCH_SIZE');
    const done = this.replica.isReady ? this.patchNow(key, encoded) : this.patchOnceReady(key, encoded);
    // Whoever does not wait for it has seen all errors that this worker knows.
    done.catch(() => {});
    return done;
  }

  private patchNow(key: string, fields: Encoded): Promise<void> {
    const value = this.patched(key, fields);
    this.checkPlace(key, value);
    return this.replica.patch(key, fields, value);
  }

  /** Before, this worker does not know the value. */
  private async patchOnceReady(key: string, fields: Encoded): Promise<void> {
    const bytes = keyBytesOf(key, fields);
    if (this.waitingBytes + bytes > this.settings.maxBytes) throw new GjallarError('OVERLOADED');
    this.waitingBytes += bytes;
    await this.ready();
    this.waitingBytes -= bytes;
    if (this.closing) throw closedError(this.name);
    await this.patchNow(key, fields);
  }

  private patched(key: string, fields: Encoded): string {
    const patched = patchedValue(this.overlay.get(key), fields);
    if (typeof patched === 'object') return patched.value;
    if (patched === 'BAD_STATE_VALUE') {
      throw new GjallarError(patched, 'patch() changes fields of an object. Use set() for any other value.');
    }
    throw new GjallarError(
      patched,
      `The value of the key is larger than ${MAX_PATCH_BYTES} bytes, the most that a patch changes. Set the whole value, or ` +
        'spread its fields over several keys.',
    );
  }

  async compareAndSet(key: string, expected: unknown, value: unknown, options?: SetOptions): Promise<boolean> {
    this.checkKey(key);
    const encoded = value === undefined ? undefined : encodeValue(value);
    if (encoded !== undefined) this.checkPlace(key, encoded);
    const before = expected === undefined ? undefined : encodeValue(expected);
    return heldOpen(this.replica.compareAndSet(key, before, encoded, this.lastingOf(options)));
  }

  sizeOf(key: string): number | undefined {
    const value = this.overlay.get(key);
    return value === undefined ? undefined : Buffer.byteLength(value);
  }

  delete(key: string): boolean {
    this.checkKey(key);
    const isKnown = this.overlay.get(key) !== undefined;
    if (isKnown) this.replica.change(key, undefined);
    return isKnown;
  }

  get(key: string): unknown {
    const value = this.overlay.get(key);
    return value === undefined ? undefined : decodeValue(value);
  }

  *entries(): Generator<[key: string, value: unknown]> {
    for (const [key, value] of this.overlay.present()) yield [key, decodeValue(value)];
  }

  *keys(): Generator<string> {
    for (const [key] of this.overlay.present()) yield key;
  }

  get bytes(): number {
    return this.overlay.bytes;
  }

  get size(): number {
    return this.overlay.size;
  }

  /** Whether a client may join by itself. */
  async mayJoin(socket: AnySocket): Promise<boolean> {
    return (await this.settings.mayJoin?.(socket)) === true;
  }

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
      this.publisher.members.remove(before);
      member.marks = before.marks;
    }
    this.bySocket.set(socket, member);
    listenFor(socket, this);
    return joined;
  }

  leave(socket: AnySocket): void {
    const member = this.bySocket.get(socket);
    if (!member) return;
    this.bySocket.delete(socket);
    listenNoMore(socket, this);
    this.publisher.members.remove(member);
  }

  /** The client has read a message with a mark. */
  acknowledge(socket: AnySocket, marks: Readonly<Record<string, unknown>>): void {
    const mark = marks[this.settings.event];
    const member = this.bySocket.get(socket);
    if (member && typeof mark === 'number') this.publisher.members.acknowledge(member, mark);
  }

  joinReader(reader: StateReader, format: StateFormat, options: JoinOptions = {}): () => void {
    const member = this.admit(reader, format, options);
    return () => this.publisher.members.remove(member);
  }

  ready(): Promise<void> {
    return heldOpen(new Promise((resolve) => this.replica.whenReady(resolve)));
  }

  caughtUp(): Promise<void> {
    return heldOpen(this.replica.caughtUp());
  }

  stored(): Promise<void> {
    return this.replica.stored();
  }

  stats(): StateRoomStats {
    const { publisher, replica } = this;
    const { members } = publisher;
    return {
      keys: this.size,
      bytes: this.bytes,
      members: members.size,
      behind: members.behind,
      behindLong: members.behindLong,
      changes: replica.changes,
      conflated: members.conflated,
      savedBytes: Math.round(members.savedBytes),
      unstored: replica.unstored,
    };
  }

  get fullness(): number {
    const { maxKeys, maxBytes } = this.settings;
    const { size, bytes } = this;
    return Math.max(size / maxKeys, bytes / maxBytes);
  }

  close(): Promise<void> {
    if (!this.closing) {
      this.closing = this.end();
      this.onClosed(this.closing);
    }
    return this.closing;
  }

  private async end(): Promise<void> {
    openRooms.remove(this);
    this.publisher.close();
    const closed = this.replica.close();
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
    if (isDown) this.tell('storeDown', news.down!);
    else this.tell('storeUp');
  }

  private admit(reader: StateReader, format: StateFormat, options: JoinOptions | null): Member {
    const { version, maxRate } = options ?? {};
    requireRate(maxRate);
    if (this.closing) throw closedError(this.name);
    if (this.publisher.members.isCrowded(MAX_BEHIND)) throw new GjallarError('STATE_BUSY');
    const rate = Math.min(maxRate ?? Number.POSITIVE_INFINITY, this.settings.maxRate ?? Number.POSITIVE_INFINITY);
    const member = new Member(reader, format, 1000 / rate);
    this.publisher.join(member, version);
    return member;
  }

  /** @throws GjallarError BAD_INPUT */
  private lastingOf({ ttl, owned = false }: SetOptions = {}): Lasting {
    if (typeof owned !== 'boolean') throw new GjallarError('BAD_INPUT', 'owned must be true or false.');
    if (owned && this.store) {
      throw new GjallarError('BAD_INPUT', 'A state room with a store has no owned keys. Use a room without one.');
    }
    if (ttl === undefined) return { isOwned: owned };
    if (typeof ttl === 'number' && ttl >= 1 && ttl <= MAX_TTL_MS) return { expires: Date.now() + ttl, isOwned: owned };
    throw new GjallarError('BAD_INPUT', `ttl must be a number from 1 to ${MAX_TTL_MS}, in milliseconds.`);
  }

  private checkKey(key: string): void {
    if (typeof key !== 'string' || key === '' || Buffer.byteLength(key) > MAX_KEY_BYTES || LONE_SURROGATE.test(key)) {
      throw new GjallarError(
        'BAD_STATE_KEY',
        `Invalid key of a state room. Use a string of 1 to ${MAX_KEY_BYTES} bytes without lone surrogates.`,
      );
    }
  }

  private checkPlace(key: string, value: Encoded): void {
    const { maxKeys, maxBytes } = this.settings;
    const { name, size } = this;
    const bytes = keyBytesOf(key, value);
    if (bytes - Buffer.byteLength(key) > MAX_VALUE_BYTES) {
      throw new GjallarError(
        'BAD_STATE_VALUE',
        `The value is larger than ${MAX_VALUE_BYTES} bytes. Spread it over several keys.`,
      );
    }
    const before = this.overlay.sizeOf(key);
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

const closedError = (name: string) =>
  new GjallarError('BAD_INPUT', `The state room "${name}" is closed. Create it again.`);
