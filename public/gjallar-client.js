// Rooms for socket.io-client that lose nothing. gjallar-client.d.ts documents what is exported here.
//
// The server counts a room's messages without gaps (`offset`), and gives each a tag. The client holds messages that arrive early,
// drops duplicates, and requests missing messages. Tags only grow, so no message is delivered twice. By the tag of the last
// message that the client has, the server knows whether it has lost messages, and where the client goes on.

import { REPLY_TIMEOUT_MS, RoomError } from './gjallar-client-base.js';
import { Room } from './gjallar-client-room.js';

export { RoomError } from './gjallar-client-base.js';
export { PresenceMap } from './gjallar-client-presence.js';
export { JoinedRoom } from './gjallar-client-room.js';
export { StateMap } from './gjallar-client-state.js';

/** The server lets eight history reads of a client wait, and rejects more. */
const MAX_READS = 8;

/** Rooms of which the client misses nothing. */
class KeptRooms {
  #socket;
  #protocol;
  #rooms = new Map();
  #listeners = {
    connect: () => {
      for (const { resolve } of this.#waiting.splice(0)) resolve();
      // Each room reports its own rejection to its `onRefused`.
      for (const room of this.#rooms.values()) room.join().catch((error) => room.refused(error));
    },
    disconnect: () => {
      for (const room of this.#rooms.values()) room.onDisconnect();
    },
    connect_error: (error) => {
      // Otherwise, the socket tries again by itself.
      if (this.#socket.active === false) this.#endWaiting(`The server rejects the connection: ${error.message}`);
    },
  };
  #reads = 0;
  #waitingReads = [];
  /** Requests that wait for the connection. */
  #waiting = [];

  /** @param protocol the names of the events, and how an event with its values is made a message, and the other way round */
  constructor(socket, protocol) {
    this.#socket = socket;
    this.#protocol = protocol;
    for (const [event, listener] of Object.entries(this.#listeners)) socket.on(event, listener);
    socket.onAny(this.#receive);
  }

  #receive = (event, ...values) => {
    const { deleted, messageOf } = this.#protocol;
    if (event === deleted) return this.#rooms.get(values[0].room)?.tell('onDeleted', values[0]);
    const message = messageOf(event, values);
    if (message) this.#rooms.get(message.room)?.receive(message);
  };

  async join(name, options = {}) {
    checkPosition(options.position ?? { offset: 0 });
    const known = this.#rooms.get(name);
    const { join, history, eventOf } = this.#protocol;
    const requests = {
      join: () => this.#request(join, name),
      read: (query) => this.#read(history, query),
      leave: () => this.leave(name),
      eventOf,
    };
    const room = known ?? new Room(name, options, requests);
    this.#rooms.set(name, room);
    room.add(options);
    try {
      return Object.assign(room.joined, await room.join());
    } catch (error) {
      // A join without an answer is tried again with the next connection; a rejected one is not.
      // The room may have been left meanwhile, and joined again.
      if (error.code !== 'LOST' && this.#rooms.get(name) === room && !known) this.#forget(name);
      room.failed(options);
      throw error;
    }
  }

  async leave(name) {
    const joining = this.#rooms.get(name)?.joining;
    this.#forget(name);
    // The server lets the client in when it has decided to, also if it was told before that the client leaves.
    if (joining && this.#socket.connected) await joining.catch(() => {});
    // Whoever has joined the room meanwhile stays.
    if (this.#rooms.has(name)) return { ok: true };
    const { leave } = this.#protocol;
    if (this.#socket.connected) return this.#request(leave, name);
    this.#endWaiting('The room was left before the socket was connected.', name);
    // A session that is recovered is still in the room.
    this.#socket.emit(leave, name, () => {});
    return { ok: true };
  }

  close() {
    for (const [event, listener] of Object.entries(this.#listeners)) this.#socket.off(event, listener);
    this.#socket.offAny(this.#receive);
    for (const name of [...this.#rooms.keys()]) this.#forget(name);
    this.#endWaiting('The rooms were closed before the socket was connected.');
  }

  #forget(name) {
    this.#rooms.get(name)?.close();
    this.#rooms.delete(name);
  }

  /** Ends the requests that wait for the connection: those of a room, or all. */
  #endWaiting(reason, room) {
    const isMeant = ({ payload }) => room === undefined || payload === room;
    for (const { reject } of this.#waiting.filter(isMeant)) reject(new RoomError('LOST', reason));
    this.#waiting = this.#waiting.filter((waiting) => !isMeant(waiting));
  }

  /** Reads history, a few pages at a time, however many rooms ask for some after a reconnection. */
  async #read(event, query) {
    while (this.#reads >= MAX_READS) await new Promise((resolve) => this.#waitingReads.push(resolve));
    this.#reads += 1;
    try {
      return await this.#request(event, query);
    } finally {
      this.#reads -= 1;
      this.#waitingReads.shift()?.();
    }
  }

  async #request(event, payload) {
    if (!this.#socket.connected) {
      await new Promise((resolve, reject) => this.#waiting.push({ payload, resolve, reject }));
    }
    const lost = () => ({ code: 'LOST', message: 'The server did not answer.' });
    const reply = await this.#socket.timeout(REPLY_TIMEOUT_MS).emitWithAck(event, payload).catch(lost);
    if (!reply.ok) throw new RoomError(reply.code, reply.message);
    return reply;
  }
}

export class Rooms extends KeptRooms {
  constructor(socket) {
    const messageOf = (event, [message]) => (event === 'message' ? message : undefined);
    const eventOf = (message) => ['message', message];
    super(socket, { join: 'join', leave: 'leave', history: 'history', deleted: 'deleted', messageOf, eventOf });
  }
}

export class DurableRooms extends KeptRooms {
  constructor(socket) {
    const messageOf = (event, values) => {
      // With the recovery of connections, an offset may follow.
      const at = typeof values.at(-1) === 'string' ? -2 : -1;
      const { room, offset, tag } = values.at(at) ?? {};
      return typeof tag === 'number' ? { room, offset, tag, event, values: values.slice(0, at) } : undefined;
    };
    const eventOf = ({ event, values }) => [event, ...values];
    super(socket, { join: 'durable:join', leave: 'durable:leave', history: 'durable:read', messageOf, eventOf });
  }
}

function checkPosition({ offset, tag = 0 }) {
  if ([offset, tag].every((value) => Number.isSafeInteger(value) && value >= 0)) return;
  throw new RoomError('BAD_PAGE', 'A position is { offset, tag }, as the property position of a joined room.');
}
