import { type Identity, requireRoom } from '../../accounts/identity.js';
import { GjallarError } from '../../errors.js';
import { readObject, readRoom } from '../input.js';
import type { ChatServer } from '../protocol.js';
import { DEMO_ROOM, DemoQuotes } from './demo.js';
import { type StateLimits, StateRooms } from './rooms.js';
import { snapshotOf } from './snapshot.js';
import { SocketWatchers } from './socket-watchers.js';

/**
 * The state rooms as the HTTP API uses them. A caller is undefined if it has the API key, which allows every room.
 */
export class StateService {
  readonly rooms: StateRooms;
  readonly sockets: SocketWatchers;
  private readonly demo: DemoQuotes;

  /** @param isOverloaded whether changes are rejected because the worker is overloaded */
  constructor(
    io: ChatServer,
    limits: StateLimits,
    private readonly isOverloaded: () => boolean,
  ) {
    this.rooms = new StateRooms(io, limits, (name) => {
      if (limits.hasDemo && name === DEMO_ROOM) this.demo.watched();
    });
    this.demo = new DemoQuotes(this.rooms);
    this.sockets = new SocketWatchers(this.rooms);
  }

  /**
   * Sets a key. The input is read once the caller is known to be allowed to.
   * @throws GjallarError BAD_ROOM, BAD_STATE_KEY, BAD_STATE_VALUE, ROOM_FORBIDDEN, STATE_FULL, OVERLOADED
   */
  async set(caller: Identity | undefined, room: string, key: string, readInput: () => Promise<unknown>): Promise<void> {
    const name = this.writable(caller, room);
    const value = await readInput();
    await this.rooms.set(name, key, () => value);
  }

  /**
   * Changes fields of a key whose value is an object, or that has none yet. The others keep the values that any worker had
   * set before. @throws as set()
   */
  async patch(
    caller: Identity | undefined,
    room: string,
    key: string,
    readInput: () => Promise<unknown>,
  ): Promise<void> {
    const name = this.writable(caller, room);
    const fields = readObject(await readInput());
    await this.rooms.caughtUp(name);
    await this.rooms.set(name, key, (before = {}) => {
      if (typeof before === 'object' && before !== null && !Array.isArray(before)) return { ...before, ...fields };
      throw new GjallarError('BAD_STATE_VALUE', 'The value of this key is no object. Use PUT to replace it.');
    });
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
    return this.rooms.remove(name);
  }

  /**
   * Reads a snapshot of a room as the parts of one JSON object.
   * @throws GjallarError BAD_ROOM, ROOM_FORBIDDEN, NOT_FOUND
   */
  async *read(caller: Identity | undefined, room: string): AsyncGenerator<string> {
    const name = readRoom(room);
    if (caller) requireRoom(caller.grant, 'join', name);
    await this.rooms.caughtUp(name);
    const found = await this.rooms.find(name);
    if (!found) throw new GjallarError('NOT_FOUND', 'There is no state room of this name. PUT a key to create it.');
    let unfollow = () => {};
    const onEnd = (listener: () => void) => {
      unfollow = this.rooms.watch(name, { enter: () => {}, refuse: () => {}, empty: listener });
    };
    try {
      let text = `{"ok":true,"changes":[`;
      let isFirst = true;
      for await (const { pairs, version, isLast } of snapshotOf(found, onEnd)) {
        text += isFirst || pairs === '' ? pairs : `,${pairs}`;
        isFirst &&= pairs === '';
        if (isLast) text += `],"version":${JSON.stringify(version)}}\n`;
        yield text;
        text = '';
      }
    } finally {
      unfollow();
    }
  }

  close(): void {
    this.demo.close();
    this.rooms.close();
  }

  private writable(caller: Identity | undefined, room: string): string {
    const name = readRoom(room);
    if (caller) requireRoom(caller.grant, 'publish', name);
    if (this.isOverloaded()) throw new GjallarError('OVERLOADED');
    return name;
  }
}
