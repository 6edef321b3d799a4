import { GjallarError } from '../../../base/errors.js';
import { createStateRoom, type StateRoom } from '../../../features/state/index.js';
import type { Config } from '../../../host/index.js';
import type { Engine, Server } from '../../../index.js';
import { parseJson, WorkQueue } from '../../../io/http/index.js';
import { type Grant, type Identity, requireRoom } from '../../accounts/identity.js';
import { ioRoomOf } from '../context.js';
import { callerOf } from '../identify.js';
import { readObject, readRoom } from '../input.js';
import type { ChatServer } from '../protocol.js';
import { DEMO_ROOM, DemoQuotes } from './demo.js';

/**
 * The state rooms, which are open on all workers and machines from the start, and what callers of the HTTP API do with
 * them. A caller is undefined if it has the API key, which allows every room.
 */
export class StateService {
  private readonly byName = new Map<string, StateRoom>();
  private readonly demo?: DemoQuotes;
  /** Requests take turns, so that many at once do not keep the worker from everything else. */
  private readonly requests: WorkQueue;

  /** The room of the demo page changes by itself while it is watched. */
  constructor(
    io: ChatServer,
    { stateRooms = [], stateMaxKeys: maxKeys, stateMaxBytes: maxBytes, demoPage }: Partial<Config>,
    private readonly engine: Pick<Engine, 'costs' | 'load'>,
  ) {
    this.requests = new WorkQueue('requests for state rooms', engine.costs);
    const hasDemo = demoPage === 'on';
    for (const name of new Set([...stateRooms.map(readRoom), ...(hasDemo ? [DEMO_ROOM] : [])])) {
      // A room may have the name of an event of the chat.
      const options = { maxKeys, maxBytes, event: `state:${name}`, answersClients: false };
      this.byName.set(name, createStateRoom(io as unknown as Server, name, options));
    }
    if (!hasDemo) return;
    const emit = (changes: object) => (io as unknown as Server).to(ioRoomOf(DEMO_ROOM)).emit('quotes', changes);
    this.demo = new DemoQuotes(this.byName.get(DEMO_ROOM)!, emit);
  }

  /**
   * The room of a name, for a user who may join it or publish to it.
   * @param grant undefined if every room is allowed
   * @throws GjallarError BAD_ROOM, ROOM_FORBIDDEN, NOT_FOUND
   */
  find(given: unknown, right: 'join' | 'publish', grant: Grant | undefined): StateRoom {
    const name = readRoom(given);
    if (grant) requireRoom(grant, right, name);
    const room = this.byName.get(name);
    if (room) return room;
    throw new GjallarError(
      'NOT_FOUND',
      'This server has no state room of this name. Check the name, or ask the operator to add it to STATE_ROOMS.',
    );
  }

  get all(): Iterable<StateRoom> {
    return this.byName.values();
  }

  /** Call it when a client has joined a room. */
  joined(room: StateRoom): void {
    if (room.name === DEMO_ROOM) this.demo?.watched();
  }

  /**
   * Reads the value of a key.
   * @throws GjallarError BAD_ROOM, ROOM_FORBIDDEN, NOT_FOUND, OVERLOADED, RATE_LIMITED
   */
  async get(caller: Identity | undefined, name: string, key: string): Promise<unknown> {
    const room = this.find(name, 'join', caller?.grant);
    return this.runCaughtUp(room, caller, async () => {
      const bytes = room.sizeOf(key);
      if (bytes === undefined) throw new GjallarError('NOT_FOUND', `The state room "${room.name}" has no such key.`);
      this.charge(caller, 2 * bytes);
      return room.get(key);
    });
  }

  /**
   * Sets a key. The body is read once the caller is known to be allowed to.
   * @throws GjallarError BAD_ROOM, BAD_JSON, BAD_STATE_KEY, BAD_STATE_VALUE, ROOM_FORBIDDEN, NOT_FOUND, STATE_FULL,
   *   OVERLOADED, RATE_LIMITED
   */
  async set(caller: Identity | undefined, name: string, key: string, readBody: () => Promise<Buffer>): Promise<void> {
    const room = this.writable(caller, name);
    const body = await readBody();
    const change = async () => {
      this.charge(caller, 2 * body.length);
      room.set(key, parseValue(body));
    };
    await this.requests.run(callerOf(caller), change, body.length);
  }

  /**
   * Changes fields of a key whose value is an object, or that has none yet, as in RFC 7396. The others keep the values that any
   * worker of the machine had set before. @throws as set(), and STATE_PATCH_SIZE
   */
  async patch(caller: Identity | undefined, name: string, key: string, readBody: () => Promise<Buffer>): Promise<void> {
    const room = this.writable(caller, name);
    const body = await readBody();
    const change = async () => {
      const before = room.sizeOf(key) ?? 0;
      const done = room.patch(key, readObject(parseValue(body)));
      this.charge(caller, body.length + before + (room.sizeOf(key) ?? 0));
      // The hub changes the value that it has at that time.
      await done;
    };
    await this.runCaughtUp(room, caller, change, body.length);
  }

  /**
   * Deletes a key. Resolves with whether it had a value.
   * @throws GjallarError BAD_ROOM, BAD_STATE_KEY, ROOM_FORBIDDEN, NOT_FOUND, OVERLOADED, RATE_LIMITED
   */
  async delete(caller: Identity | undefined, name: string, key: string): Promise<boolean> {
    const room = this.writable(caller, name);
    return this.runCaughtUp(room, caller, async () => {
      this.charge(caller, room.sizeOf(key) ?? 0);
      return room.delete(key);
    });
  }

  /** The rooms end with their server. */
  close(): void {
    this.demo?.close();
  }

  /** Runs a request when it is the caller's turn, and the worker has what others had changed before. */
  private runCaughtUp<T>(
    room: StateRoom,
    caller: Identity | undefined,
    work: () => Promise<T>,
    bytes?: number,
  ): Promise<T> {
    let caughtUp: Promise<void> | undefined;
    const run = async () => {
      await caughtUp;
      return work();
    };
    const done = this.requests.run(callerOf(caller), run, bytes);
    // Asked while the request waits, unless it was refused.
    caughtUp = room.caughtUp();
    return done;
  }

  /** Charges a caller. The API key is the operator's, whose programs only take turns. */
  private charge(caller: Identity | undefined, bytes: number): void {
    if (caller) this.engine.costs.charge(callerOf(caller), bytes);
  }

  private writable(caller: Identity | undefined, name: string): StateRoom {
    const room = this.find(name, 'publish', caller?.grant);
    if (this.engine.load.rejectsMessages) throw new GjallarError('OVERLOADED');
    return room;
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
