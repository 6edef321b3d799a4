import { setTimeout as after } from 'node:timers/promises';
import { GjallarError } from '../../../base/errors.js';
import { Tally } from '../../../base/tally.js';
import type { RequestCosts } from '../../../engine/limits/request-costs.js';
import { WorkQueue } from '../../../engine/limits/work-queue.js';
import type { LocalStateRoom as StateRoom } from '../../../features/state/room.js';
import { encodeValue } from '../../../features/state/values.js';
import { parseJson } from '../../../io/http/json.js';
import { type Identity, requireRoom } from '../../accounts/identity.js';
import type { StatePart } from '../../api/rooms.js';
import { callerOf } from '../identify.js';
import { readObject, readRoom } from '../input.js';
import type { ChatServer } from '../protocol.js';
import { DEMO_ROOM, DemoQuotes } from './demo.js';
import { type StateLimits, StateRooms, type Writer } from './rooms.js';
import { snapshotOf } from './snapshot.js';
import { SocketWatchers } from './socket-watchers.js';

/** How many reads of one user may be in progress. */
const MAX_READS = 8;

/**
 * The state rooms as the HTTP API uses them. A caller is undefined if it has the API key, which allows every room.
 */
export class StateService {
  readonly rooms: StateRooms;
  readonly sockets: SocketWatchers;
  private readonly demo: DemoQuotes;
  /** Changes take turns, so that many at once do not keep the worker from everything else. */
  private readonly changes: WorkQueue;
  /** Reads in progress, by caller. */
  private readonly reads = new Tally<object | string>();

  /**
   * @param isOverloaded whether changes are rejected because the worker is overloaded
   * @param costs charges callers for what the worker reads, copies and encodes for them
   */
  constructor(
    io: ChatServer,
    limits: StateLimits,
    private readonly isOverloaded: () => boolean,
    private readonly costs?: RequestCosts,
  ) {
    this.changes = new WorkQueue('changes of state rooms', costs);
    this.rooms = new StateRooms(io, limits, (name) => {
      if (limits.hasDemo && name === DEMO_ROOM) this.demo.watched();
    });
    this.demo = new DemoQuotes(this.rooms);
    this.sockets = new SocketWatchers(this.rooms);
  }

  /**
   * Sets a key. The body is read once the caller is known to be allowed to.
   * @throws GjallarError BAD_ROOM, BAD_JSON, BAD_STATE_KEY, BAD_STATE_VALUE, ROOM_FORBIDDEN, STATE_FULL, OVERLOADED,
   *   RATE_LIMITED
   */
  async set(caller: Identity | undefined, room: string, key: string, readBody: () => Promise<Buffer>): Promise<void> {
    const name = this.writable(caller, room);
    const body = await readBody();
    const value = () => {
      this.charge(caller, 2 * body.length);
      return encodeValue(parseValue(body));
    };
    await this.rooms.set(name, key, value, this.writer(caller, body.length));
  }

  /**
   * Changes fields of a key whose value is an object, or that has none yet, as in RFC 7396. The others keep the values that any
   * worker of the machine had set before. @throws as set(), and STATE_PATCH_SIZE
   */
  async patch(caller: Identity | undefined, room: string, key: string, readBody: () => Promise<Buffer>): Promise<void> {
    const name = this.writable(caller, room);
    const body = await readBody();
    await this.rooms.caughtUp(name);
    let fields: Record<string, unknown> = {};
    const value = (found: StateRoom) => {
      fields = readObject(parseValue(body));
      const patched = found.patched(key, fields);
      this.charge(caller, body.length + (found.sizeOf(key) ?? 0) + Buffer.byteLength(patched));
      return patched;
    };
    let done: Promise<void> | undefined;
    await this.rooms.set(name, key, value, this.writer(caller, body.length), (found, patched) => {
      done = found.patchTo(key, fields, patched as string);
    });
    // The hub has changed the value that it has at that time.
    await done;
  }

  /** Deletes a key. Resolves with whether it had a value. */
  async delete(caller: Identity | undefined, room: string, key: string): Promise<boolean> {
    const name = this.writable(caller, room);
    await this.rooms.caughtUp(name);
    const found = await this.rooms.find(name);
    return found?.delete(key) ?? false;
  }

  /** Removes a room with all its keys. Resolves with whether there was one. */
  async remove(caller: Identity | undefined, room: string): Promise<boolean> {
    const name = this.writable(caller, room);
    await this.rooms.caughtUp(name);
    const found = await this.rooms.find(name);
    this.charge(caller, found?.footprint ?? 0);
    return this.rooms.remove(name, this.writer(caller, 0));
  }

  /**
   * Reads a snapshot of a room as the parts of one JSON object.
   * @throws GjallarError BAD_ROOM, ROOM_FORBIDDEN, NOT_FOUND, RATE_LIMITED
   */
  async *read(caller: Identity | undefined, room: string): AsyncGenerator<StatePart> {
    const name = readRoom(room);
    if (caller) requireRoom(caller.grant, 'join', name);
    const client = callerOf(caller);
    if (this.reads.of(client) >= MAX_READS) {
      throw new GjallarError(
        'RATE_LIMITED',
        `${MAX_READS} reads of state rooms by this user are in progress. Wait for their responses before the next one.`,
      );
    }
    this.reads.add(client);
    try {
      yield* this.partsOf(caller, name);
    } finally {
      this.reads.remove(client);
    }
  }

  private async *partsOf(caller: Identity | undefined, name: string): AsyncGenerator<StatePart> {
    await this.rooms.caughtUp(name);
    const found = await this.rooms.find(name);
    if (!found) throw new GjallarError('NOT_FOUND', 'There is no state room of this name. PUT a key to create it.');
    let unfollow = () => {};
    const onEnd = (listener: () => void) => {
      unfollow = this.rooms.watch(name, { enter: () => {}, refuse: () => {}, empty: listener });
    };
    try {
      let before = '{"ok":true,"changes":[';
      let isFirst = true;
      for await (const { pairs, version, isLast, ahead } of snapshotOf(found, onEnd)) {
        // Readers share the text of a part, which is therefore passed on as it is.
        if (before !== '') yield { text: before, ahead: pairs.length + ahead };
        before = '';
        if (pairs !== '') {
          this.charge(caller, pairs.length);
          yield { text: isFirst ? pairs.slice(1) : pairs, ahead };
          isFirst = false;
        }
        if (isLast) yield { text: `],"version":${JSON.stringify(version)}}\n`, ahead: 0 };
        else await this.paid(caller);
      }
    } finally {
      unfollow();
    }
  }

  close(): void {
    this.demo.close();
    this.rooms.close();
  }

  /** Resolves once the caller owes nothing. */
  private async paid(caller: Identity | undefined): Promise<void> {
    const wait = caller ? (this.costs?.waitOf(callerOf(caller)) ?? 0) : 0;
    if (wait > 0) await after(wait);
  }

  /** Charges a caller. The API key is the operator's, whose programs only take turns. */
  private charge(caller: Identity | undefined, bytes: number): void {
    if (caller) this.costs?.charge(callerOf(caller), bytes);
  }

  private writer(caller: Identity | undefined, bytes: number): Writer {
    const client = callerOf(caller);
    return { user: caller?.name, turn: (work) => this.changes.run(client, work, bytes) };
  }

  private writable(caller: Identity | undefined, room: string): string {
    const name = readRoom(room);
    if (caller) requireRoom(caller.grant, 'publish', name);
    if (this.isOverloaded()) throw new GjallarError('OVERLOADED');
    return name;
  }
}

/**
 * JSON.parse() makes 1e999 infinite, which would be stored as null.
 * @throws GjallarError BAD_JSON, BAD_STATE_VALUE
 */
function parseValue(body: Uint8Array): unknown {
  const value = parseJson(body);
  if (hasInfinity(value)) throw new GjallarError('BAD_STATE_VALUE', 'The value has a number that is too large.');
  return value;
}

/** @param value of any depth, since JSON.parse() sets no bound */
function hasInfinity(value: unknown): boolean {
  const open = [value];
  for (const one of open) {
    if (one === Number.POSITIVE_INFINITY || one === Number.NEGATIVE_INFINITY) return true;
    if (typeof one === 'object' && one !== null) for (const inner of Object.values(one)) open.push(inner);
  }
  return false;
}
