// Rooms for socket.io-client that lose nothing: every message arrives once and in order, across reconnections.
//
//   import { io } from 'socket.io-client';
//   import { Rooms } from 'gjallar/client';        // in a page: '/gjallar-client.js' and the global `io`
//
//   const rooms = new Rooms(io('http://localhost:3000'));
//   const hall = await rooms.join('hall', { last: 50 });
//   hall.on('message', ({ from, text }) => console.log(from, text));
//
// The server counts a room's messages without gaps (`offset`), and gives each a tag. The client holds messages that arrive early,
// drops duplicates, and requests missing messages. Tags only grow, so no message is delivered twice. By the tag of the last
// message that the client has, the server knows whether it has lost messages, and where the client goes on.
//
// The build generates gjallar-client.d.ts from the comments below. The types of the events are those of the server.

/**
 * The events that a client receives and sends, for `Socket<ServerEvents, ClientEvents>` of socket.io-client. With
 * `AcknowledgedEvents` for the second, every event needs an acknowledgement, and `emitWithAck` knows the reply's type.
 * @typedef {import('../dist/service/chat/protocol.js').ServerEvents} ServerEvents
 * @typedef {import('../dist/service/chat/protocol.js').ClientEvents} ClientEvents
 * @typedef {import('../dist/service/chat/protocol.js').AcknowledgedEvents} AcknowledgedEvents
 */

/** @typedef {import('../dist/service/chat/protocol.js').ChatMessage} RoomMessage A message of a room. */

/** @typedef {Extract<import('../dist/service/chat/protocol.js').DeletedMessages, { room: string }>} DeletedMessages Deleted messages of a room. */

/**
 * The position of a message: `offset` counts the messages of a room from 1 without gaps, and `tag` tells the message from one that
 * was lost with the same offset.
 * @typedef {Required<import('../dist/service/chat/protocol.js').PostReply>} RoomPosition
 */

/** @typedef {{ ok: true } & import('../dist/service/chat/protocol.js').JoinReply} JoinResult The server's reply to a join. */

/**
 * A join that succeeded. `isFirst`: whether it was the first. `missing`: the number of earlier messages that are
 * delivered now, as far as it is known.
 * @typedef {JoinResult & { isFirst: boolean, missing: number }} Joined
 */

/**
 * @typedef {object} Recovery
 * @property {string} room
 * @property {number} missed Number of missed messages that have now been delivered.
 * @property {boolean} complete False if some missed messages no longer exist.
 * @property {boolean} isFirst Whether this was the first join: the messages are then those that `last` requested.
 */

/**
 * @typedef {{ room: string, offset: number, tag: number, event: string, values: any[] }} DurableMessage An event of a
 *   durable room, without its position.
 */

/**
 * @template [Message=RoomMessage]
 * @typedef {object} JoinOptions
 * @property {(message: Message) => void} [onMessage] Called with each message once, in the order of the room. Instead of it,
 *   `on()` of the joined room calls a listener for each event.
 * @property {(deleted: DeletedMessages) => void} [onDeleted] Called when the operator has deleted messages: remove them from
 *   what you show. Their positions stay.
 * @property {(joined: Joined) => void} [onJoined] Called after the first join and after each reconnection, before missed
 *   messages are delivered.
 * @property {(recovery: Recovery) => void} [onRecovered] Called when missed messages have been delivered, after a
 *   reconnection or a gap.
 * @property {(error: RoomError) => void} [onRefused] Called if, after a reconnection, the server rejects the join or the
 *   request for missed messages.
 * @property {number} [last] How many messages from before the first join are delivered. Default: 0.
 * @property {RoomPosition} [position] Continues from this position, which {@link Rooms.position} returned earlier. Default:
 *   from the first join.
 */

/**
 * The part of socket.io-client's Socket that {@link Rooms} uses. It consists of methods, so that sockets with typed events
 * are assignable.
 * @typedef {{
 *   on(event: never, listener: never): unknown,
 *   off(event?: never, listener?: never): unknown,
 *   timeout(ms: number): object,
 * }} SocketLike
 */

const PAGE = 500;
const RETRY_MS = 500;
/** How often the client says at most what it has read of state rooms, in ms. */
const ACK_MS = 100;
/** A value of a state room that arrives so much later than others is not shown for a while: newer ones follow, in ms. */
const LATE_MS = 1000;
const MAX_LATE_MS = 1000;
const REPLY_TIMEOUT_MS = 10_000;
/** The server lets eight history reads of a client wait, and rejects more. */
const MAX_READS = 8;
/** A request that the server fails to answer is repeated more and more seldom, up to this time. */
const MAX_RETRY_MS = 30_000;
/** How many messages wait for missing ones. What exceeds that is requested. */
const MAX_WAITING = 10_000;
/** How many delivered messages a room knows again, if the server has lost them and finds them again. */
const MAX_KNOWN = 1000;
/** Errors that pass: the request is repeated. */
const PASSING = ['LOST', 'HISTORY_UNAVAILABLE', 'OVERLOADED', 'RATE_LIMITED'];

/**
 * @template [V=unknown]
 * @typedef {object} StateMapOptions
 * @property {string} [watch] The event with which the server lets the client join: `watch` in the chat service. Default:
 *   `state:join`, which rooms of `createStateRoom()` answer.
 * @property {string} [room] The name of the room, if its event is another one, as in the chat service: `state:` and the name.
 *   Default: the same.
 * @property {number} [maxRate] How many updates a second the server sends at most, from 0.01 to 1,000. The server rejects other
 *   values with BAD_INPUT. Default: as many as the client reads.
 */

/**
 * `change`: a message has come; these keys have changed. A snapshot replaces all keys. `error`: the server rejects the client
 * with another code than STATE_BUSY; the client tries again after the next connection. Without a listener, `error` is a warning
 * of the console.
 * @typedef {{ change: [keys: string[]], error: [error: RoomError] }} StateMapEvents
 */

/** The listeners of something, by event. */
class Listeners {
  #byEvent = new Map();

  add(event, listener) {
    this.#byEvent.set(event, (this.#byEvent.get(event) ?? new Set()).add(listener));
  }

  remove(event, listener) {
    this.#byEvent.get(event)?.delete(listener);
  }

  has(event) {
    return (this.#byEvent.get(event)?.size ?? 0) > 0;
  }

  call(event, ...values) {
    for (const listener of [...(this.#byEvent.get(event) ?? [])]) listener(...values);
  }
}

/** The server rejected a request, or did not answer it (`code` is then `LOST`). */
export class RoomError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.name = 'RoomError';
    /**
     * @readonly
     * @type {string}
     */
    this.code = code;
  }
}

/**
 * The newest value of each key of a state room (`gjallar/state`), across reconnections.
 *
 * ```
 * const quotes = new StateMap(socket, 'quotes');
 * quotes.on('change', (keys) => show([...quotes]));
 * ```
 * @template [V=unknown]
 * @extends {Map<string, V>}
 */
export class StateMap extends Map {
  /**
   * Whether the whole state has arrived: false before the first snapshot, between the messages of a long one, and while newer
   * values follow because the client has not read for a while.
   */
  isComplete = false;
  #socket;
  #event;
  #options;
  #version;
  #timer;
  #isClosed = false;
  /** What has changed since the last `change`. */
  #changed = new Set();
  /** The shortest difference between this clock and the server's: what arrives later than that has waited somewhere. */
  #delay = Number.POSITIVE_INFINITY;
  #lateTimer;
  /** Whether the server knows of this connection that the client acknowledges. */
  #acknowledges = false;
  #listeners = new Listeners();

  /**
   * @param {SocketLike} socket
   * @param {string} name the name of the room, and of its event
   * @param {StateMapOptions<V>} [options]
   */
  constructor(socket, name, options = {}) {
    super();
    this.#socket = socket;
    this.#options = { watch: 'state:join', room: name, ...options };
    this.#listenFor(name);
    socket.on('connect', this.#watch);
    if (socket.connected) this.#watch();
  }

  /**
   * @template {keyof StateMapEvents} Event
   * @param {Event} event
   * @param {(...values: StateMapEvents[Event]) => void} listener
   * @returns {this}
   */
  on(event, listener) {
    this.#listeners.add(event, listener);
    return this;
  }

  /**
   * @template {keyof StateMapEvents} Event
   * @param {Event} event
   * @param {(...values: StateMapEvents[Event]) => void} listener
   * @returns {this}
   */
  off(event, listener) {
    this.#listeners.remove(event, listener);
    return this;
  }

  /** Leaves the room. The values stay. */
  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#lateTimer);
    // The server waits for no marks any more.
    if (this.#acknowledges) acknowledge(this.#socket, this.#event, -1);
    this.#socket.off(this.#event, this.#receive);
    this.#socket.off('connect', this.#watch);
    const { watch, room } = this.#options;
    // Another map of this socket may follow the same room.
    const isLast = watch === 'state:join' && !this.#socket.hasListeners(this.#event);
    if (isLast && this.#socket.connected) this.#socket.emit('state:leave', room, () => {});
  }

  #listenFor(event) {
    if (this.#event !== undefined) this.#socket.off(this.#event, this.#receive);
    this.#event = event;
    this.#socket.on(event, this.#receive);
  }

  #watch = () => {
    clearTimeout(this.#timer);
    this.#delay = Number.POSITIVE_INFINITY;
    this.#acknowledges = false;
    const { watch, room, maxRate } = this.#options;
    const { id } = this.#socket;
    this.#socket.timeout(REPLY_TIMEOUT_MS).emit(watch, { room, version: this.#version, maxRate }, (error, reply) => {
      // After a reconnection, the next request is in progress.
      if (this.#socket.id !== id || this.#isClosed) return;
      if (error || reply?.code === 'STATE_BUSY') this.#timer = setTimeout(this.#watch, RETRY_MS);
      else if (reply?.ok === false) this.#refused(new RoomError(reply.code, reply.message));
      // The server sends changes only after its reply.
      else if (typeof reply?.event === 'string' && reply.event !== this.#event) this.#listenFor(reply.event);
    });
  };

  #refused(error) {
    if (this.#listeners.has('error')) this.#listeners.call('error', error);
    else console.warn(`The state room "${this.#options.room}" rejects this client. ${error.code}: ${error.message}`);
  }

  #receive = (changes, { version, snapshot, more, mark }) => {
    // The room may begin with a snapshot, after one that says that it is not there.
    if (mark !== undefined || snapshot || !this.#acknowledges) acknowledge(this.#socket, this.#event, mark ?? 0);
    this.#acknowledges = true;
    const isWhole = this.isComplete || this.#lateTimer !== undefined;
    if (snapshot) {
      this.clear();
      this.#version = undefined;
    }
    for (const [key, ...value] of changes) {
      if (value.length > 0) this.set(key, value[0]);
      else this.delete(key);
      this.#changed.add(key);
    }
    this.#version = version || this.#version;
    this.isComplete = !more;
    const delay = version ? delayOf(version) : this.#delay;
    this.#delay = Math.min(this.#delay, delay);
    if (isWhole && !snapshot && delay > this.#delay + LATE_MS) {
      // This client has not read for a while, and newer values follow once the server knows that it does.
      this.isComplete = false;
      this.#lateTimer ??= setTimeout(() => {
        // It is a clock that has changed, or a slow network.
        this.#delay = delay;
        this.isComplete = !more;
        this.#report();
      }, MAX_LATE_MS);
    } else this.#report();
  };

  #report() {
    clearTimeout(this.#lateTimer);
    this.#lateTimer = undefined;
    const keys = [...this.#changed];
    this.#changed.clear();
    this.#listeners.call('change', keys);
  }
}

/** The difference between this client's clock and the server's when it wrote a version, in ms. */
function delayOf(version) {
  return performance.now() - Number.parseInt(version.split('.')[2], 36);
}

/** What each socket has yet to acknowledge, by the event of the room, and when it last did. */
const marks = new WeakMap();

/** Tells the server that everything before a mark has been read. All rooms of a socket share a message, one in `ACK_MS`. */
function acknowledge(socket, event, mark) {
  const known = marks.get(socket) ?? { read: {}, sentAt: Number.NEGATIVE_INFINITY, timer: undefined };
  marks.set(socket, known);
  known.read[event] = mark;
  const send = () => {
    clearTimeout(known.timer);
    if (socket.connected) socket.emit('state:ack', known.read);
    Object.assign(known, { read: {}, sentAt: performance.now(), timer: undefined });
  };
  // In a hidden page, timers are late.
  const wait = known.sentAt + ACK_MS - performance.now();
  if (wait <= 0) send();
  else known.timer ??= setTimeout(send, wait);
}

/**
 * A room that a client has joined. It has the properties of the server's reply, too.
 * @template {Record<string, any>} [Events=Record<string, (...values: any[]) => void>] the listeners, by event
 */
export class JoinedRoom {
  #rooms;
  #room;

  /**
   * @internal
   * @param {{ leave(name: string): Promise<{ ok: true }> }} rooms
   * @param {any} room
   */
  constructor(rooms, room) {
    this.#rooms = rooms;
    this.#room = room;
  }

  /**
   * The position of the last delivered message, to continue from later; undefined if there is none.
   * @returns {RoomPosition | undefined}
   */
  get position() {
    return this.#room.position;
  }

  /**
   * Calls a listener with the values of each such event, once and in the order of the room. Messages wait for the first listener
   * of a room: add all of them in the same turn.
   * @template {keyof Events & string} Event
   * @param {Event} event
   * @param {Events[Event]} listener
   * @returns {this}
   */
  on(event, listener) {
    this.#room.listen(event, listener);
    return this;
  }

  /**
   * @template {keyof Events & string} Event
   * @param {Event} event
   * @param {Events[Event]} listener
   * @returns {this}
   */
  off(event, listener) {
    this.#room.listeners.remove(event, listener);
    return this;
  }

  /**
   * Leaves the room, also for others who have joined it with the same helper. Rejects with a {@link RoomError} if the server
   * does not answer.
   * @returns {Promise<{ ok: true }>}
   */
  leave() {
    return this.#rooms.leave(this.#room.name);
  }
}

/**
 * Rooms of which the client misses nothing.
 * @template Message
 * @template {Record<string, any>} Events
 */
class KeptRooms {
  #socket;
  #rooms = new Map();
  #events;
  #listeners;
  #reads = 0;
  #waitingReads = [];
  /** Requests that wait for the connection. */
  #waiting = [];

  /**
   * @param {SocketLike} socket
   * @param {{ join: string, leave: string, history: string, eventOf(message: never): unknown[] }} events
   */
  constructor(socket, events) {
    this.#socket = socket;
    this.#events = events;
    this.#listeners = {
      connect: () => this.#onConnect(),
      disconnect: () => this.#onDisconnect(),
      connect_error: (error) => this.#onConnectError(error),
    };
    for (const [event, listener] of Object.entries(this.#listeners)) socket.on(event, listener);
  }

  /** @internal */
  _receive(message) {
    this.#rooms.get(message.room)?.receive(message);
  }

  /** @internal */
  _deleted(event) {
    this.#rooms.get(event.room)?.deleted(event);
  }

  /**
   * Joins a room as soon as the socket is connected, and joins it again after every reconnection. Rejects with a
   * {@link RoomError} if the server rejects the client or the join, or does not answer.
   *
   * A second call for a room resolves with the same room, and adds its callbacks; `last` and `position` are those of the first.
   * @param {string} name
   * @param {JoinOptions<Message>} [options]
   * @returns {Promise<JoinedRoom<Events> & JoinResult>}
   */
  async join(name, options = {}) {
    checkPosition(options.position);
    const known = this.#rooms.get(name);
    const { join, history, eventOf } = this.#events;
    const request = (event, payload) =>
      event === 'history' ? this.#read(history, payload) : this.#request(join, payload);
    const room = known ?? new Room(name, options, request, eventOf);
    room.joined ??= new JoinedRoom(this, room);
    this.#rooms.set(name, room);
    room.add(options);
    try {
      return Object.assign(room.joined, await room.join());
    } catch (error) {
      // A join without an answer is tried again with the next connection; a rejected one is not.
      if (error.code !== 'LOST' && !known) this.#forget(name);
      room.failed(options);
      throw error;
    }
  }

  /**
   * Leaves a room, even if `join()` has not resolved yet. Rejects with a {@link RoomError} if the server does not answer.
   * @param {string} name
   * @returns {Promise<{ ok: true }>}
   */
  async leave(name) {
    this.#forget(name);
    const { leave } = this.#events;
    if (this.#socket.connected) return this.#request(leave, name);
    this.#endWaiting('The room was left before the socket was connected.', name);
    // A session that is recovered is still in the room.
    this.#socket.emit(leave, name, () => {});
    return { ok: true };
  }

  /**
   * Removes all listeners from the socket, and leaves its connection as it is.
   * @returns {void}
   */
  close() {
    for (const [event, listener] of Object.entries(this.#listeners)) this.#socket.off(event, listener);
    for (const name of [...this.#rooms.keys()]) this.#forget(name);
    this.#endWaiting('The rooms were closed before the socket was connected.');
  }

  #forget(name) {
    this.#rooms.get(name)?.close();
    this.#rooms.delete(name);
  }

  #onConnect() {
    for (const { resolve } of this.#waiting.splice(0)) resolve();
    // Each room reports its own rejection to its `onRefused`.
    for (const room of this.#rooms.values()) room.join().catch((error) => room.refused(error));
  }

  #onConnectError(error) {
    // Otherwise, the socket tries again by itself.
    if (this.#socket.active === false) this.#endWaiting(`The server rejects the connection: ${error.message}`);
  }

  /** Ends the requests that wait for the connection: those of a room, or all. */
  #endWaiting(reason, room) {
    for (const waiting of this.#waiting.splice(0)) {
      if (room === undefined || waiting.payload === room) waiting.reject(new RoomError('LOST', reason));
      else this.#waiting.push(waiting);
    }
  }

  #onDisconnect() {
    for (const room of this.#rooms.values()) room.onDisconnect();
  }

  /** Reads history, a few pages at a time, however many rooms ask for some after a reconnection. */
  async #read(event, payload) {
    while (this.#reads >= MAX_READS) await new Promise((resolve) => this.#waitingReads.push(resolve));
    this.#reads += 1;
    try {
      return await this.#request(event, payload);
    } finally {
      this.#reads -= 1;
      this.#waitingReads.shift()?.();
    }
  }

  async #request(event, payload) {
    if (!this.#socket.connected) {
      await new Promise((resolve, reject) => this.#waiting.push({ payload, resolve, reject }));
    }
    let reply;
    try {
      reply = await this.#socket.timeout(REPLY_TIMEOUT_MS).emitWithAck(event, payload);
    } catch {
      throw new RoomError('LOST', 'The server did not answer.');
    }
    if (!reply.ok) throw new RoomError(reply.code, reply.message);
    return reply;
  }
}

/**
 * Rooms of the chat over a socket of socket.io-client: every message arrives once and in order, across reconnections.
 *
 * You keep control of the socket. It reconnects by itself after a lost connection, but not after the server has ended the
 * connection, for example because a token expired (reason `io server disconnect`). Connect it again, and the rooms resume.
 * @extends {KeptRooms<RoomMessage, { message: (message: RoomMessage) => void }>}
 */
export class Rooms extends KeptRooms {
  #socket;
  #listeners = { message: (message) => this._receive(message), deleted: (event) => this._deleted(event) };

  /** @param {SocketLike} socket */
  constructor(socket) {
    super(socket, { join: 'join', leave: 'leave', history: 'history', eventOf: (message) => ['message', message] });
    this.#socket = socket;
    for (const [event, listener] of Object.entries(this.#listeners)) socket.on(event, listener);
  }

  /** @override */
  close() {
    for (const [event, listener] of Object.entries(this.#listeners)) this.#socket.off(event, listener);
    super.close();
  }
}

/**
 * Durable rooms of an application (`createDurableRooms()` of `gjallar/history`): every event arrives once and in order, across
 * reconnections.
 *
 * ```
 * const rooms = new DurableRooms(socket);
 * const order = await rooms.join('order:7', { last: 20 });
 * order.on('status', ({ paid }) => show(paid));
 * ```
 * @template {Record<string, any>} [Events=Record<string, (...values: any[]) => void>] the listeners, by event
 * @extends {KeptRooms<DurableMessage, Events>}
 */
export class DurableRooms extends KeptRooms {
  #socket;
  #listener = (event, ...values) => {
    // With the recovery of connections, an offset may follow.
    const at = typeof values.at(-1) === 'string' ? -2 : -1;
    const position = values.at(at);
    if (typeof position?.tag !== 'number' || typeof position.room !== 'string') return;
    const { room, offset, tag } = position;
    this._receive({ room, offset, tag, event, values: values.slice(0, at) });
  };

  /** @param {SocketLike & { onAny(listener: never): unknown, offAny(listener?: never): unknown }} socket */
  constructor(socket) {
    const eventOf = ({ event, values }) => [event, ...values];
    super(socket, { join: 'durable:join', leave: 'durable:leave', history: 'durable:read', eventOf });
    this.#socket = socket;
    socket.onAny(this.#listener);
  }

  /** @override */
  close() {
    this.#socket.offAny(this.#listener);
    super.close();
  }
}

/** @throws RoomError BAD_PAGE */
function checkPosition(position) {
  const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
  const isPosition = isCount(position?.offset) && (position.tag === undefined || isCount(position.tag));
  if ((position ?? undefined) !== undefined && !isPosition) {
    throw new RoomError('BAD_PAGE', 'A position is { offset, tag }, as the property position of a joined room.');
  }
}

/** One room's messages, put in order. */
class Room {
  /** The position of the last delivered message; undefined until the first join has succeeded. */
  position;
  /** The newest tag that was delivered, of the room as it is or of messages that are lost. */
  #newest = 0;
  /** The last tags that were delivered: where the server has lost the newest, lower tags may be new. */
  #known = new Set();
  /** The room for the application. */
  joined;
  listeners = new Listeners();
  /** The callbacks of each call of `join()`. */
  #callbacks = [];
  #failed = new WeakSet();
  #eventOf;
  /** Whether messages are delivered: somebody listens. */
  #isListening = false;
  #isBeginning = false;
  /** The reply to the last join. */
  #reply;
  /** Whether no messages have been delivered since the first join. */
  #isFirst = false;
  /** Messages without a position that wait for the first listener. */
  #early = [];
  #last;
  #request;
  #waiting = [];
  #joining;
  #recovering = false;
  #isClosed = false;
  /** Needed for servers that store no messages: there, no position shows it. */
  #hasJoined = false;
  /** Counts connections, so that work of an earlier connection can be abandoned. */
  #connection = 0;
  #timer;
  /** How many requests in turn have failed, other than in passing. */
  #failures = 0;
  #isBackingOff = false;
  /** Whether a message was dropped since the last request for messages began. */
  #hasDropped = false;

  constructor(name, { last = 0, position }, request, eventOf) {
    this.name = name;
    this.#last = last;
    this.#request = request;
    this.#eventOf = eventOf;
    this.position = position;
    this.#newest = position?.tag ?? 0;
  }

  /** Adds the callbacks of a call of `join()`, which take the place of those whose call has failed. */
  add(options) {
    this.#callbacks = this.#callbacks.filter((each) => each !== options && !this.#failed.has(each));
    this.#callbacks.push(options);
    // Nothing has come yet, or it waits.
    if (options.onMessage) this.#begin();
  }

  /** A call of `join()` has failed. The room may be joined later all the same. */
  failed(options) {
    this.#failed.add(options);
  }

  listen(event, listener) {
    this.listeners.add(event, listener);
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    // Those that are added in the same turn miss nothing.
    queueMicrotask(() => this.#begin());
  }

  #begin() {
    this.#isBeginning = true;
    if (this.#isListening) return;
    this.#isListening = true;
    for (const message of this.#early.splice(0)) this.#tellMessage(message);
    if (this.#reply && !this.#joining) this.#resume();
  }

  #tell(callback, ...values) {
    for (const options of this.#callbacks) options[callback]?.(...values);
  }

  #tellMessage(message) {
    this.#tell('onMessage', message);
    this.listeners.call(...this.#eventOf(message));
  }

  /** Several calls at once share one request. */
  join() {
    this.#joining ??= this.#join().finally(() => {
      this.#joining = undefined;
    });
    return this.#joining;
  }

  onDisconnect() {
    this.#connection += 1;
    this.#joining = undefined;
    this.#reply = undefined;
    this.#recovering = false;
    this.#isBackingOff = false;
    clearTimeout(this.#timer);
  }

  close() {
    this.#isClosed = true;
    this.onDisconnect();
  }

  refused(error) {
    if (error.code !== 'LOST' && !this.#isClosed) this.#tell('onRefused', error);
  }

  receive(message) {
    if (message.offset === undefined) {
      if (this.#isListening) this.#tellMessage(message);
      else if (this.#early.length < MAX_WAITING) this.#early.push(message);
      return;
    }
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push(message);
    else this.#hasDropped = true;
    this.#drain();
  }

  /** The operator has deleted messages. */
  deleted(event) {
    this.#tell('onDeleted', event);
  }

  async #join() {
    const connection = this.#connection;
    const reply = await this.#request('join', this.name).catch((error) => this.#retryJoin(error, connection));
    if (this.#isClosed || connection !== this.#connection) return reply;
    const { offset, tag } = reply;
    if (offset === undefined) {
      this.#tell('onJoined', { ...reply, isFirst: !this.#hasJoined, missing: 0 });
      this.#hasJoined = true;
      return reply;
    }
    const isFirst = !this.position;
    if (isFirst) {
      // The tag of an earlier message is not known.
      this.position = this.#last > 0 ? { offset: Math.max(0, offset - this.#last), tag: 0 } : { offset, tag };
      this.#newest = this.position.tag;
    }
    this.#reply = reply;
    this.#isFirst ||= isFirst;
    this.#tell('onJoined', { ...reply, isFirst, missing: this.#missing });
    if (this.#isListening) await this.#resume();
    return reply;
  }

  /** How many messages from before the last join are not delivered yet. */
  get #missing() {
    return Math.max(0, this.#reply.offset - this.position.offset);
  }

  /** Delivers what was there at the last join, and what has come since. */
  async #resume() {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const { offset, tag } = this.#reply;
    const isSame = this.position.tag === 0 || this.position.tag === tag;
    if (this.position.offset !== offset || !isSame || this.#hasDropped) await this.#recover(isFirst);
    else this.#drain();
  }

  /** Retries the join of a room that was joined before the connection was lost, until the server can answer. */
  #retryJoin(error, connection) {
    if (this.position && PASSING.includes(error.code) && !this.#isClosed && connection === this.#connection) {
      this.#timer = setTimeout(() => this.join().catch((reason) => this.refused(reason)), RETRY_MS);
    }
    throw error;
  }

  #drain() {
    if (!this.position || this.#recovering || !this.#isListening) return;
    this.#waiting = this.#waiting.filter(({ tag }) => this.#isNew(tag)).sort((a, b) => a.tag - b.tag);
    while (this.#waiting[0]?.offset === this.position.offset + 1) this.#deliver(this.#waiting.shift());
    const lacks = this.#waiting.length > 0 || this.#hasDropped;
    if (lacks && !this.#joining && !this.#isBackingOff) this.#recover(false);
  }

  #deliver(message) {
    const { offset, tag, deleted } = message;
    this.position = { offset, tag };
    const isNew = this.#isNew(tag) && !deleted;
    this.#newest = Math.max(this.#newest, tag);
    if (!isNew) return false;
    this.#known.add(tag);
    if (this.#known.size > MAX_KNOWN) this.#known.delete(this.#known.values().next().value);
    this.#tellMessage(message);
    return true;
  }

  #isNew(tag) {
    return tag > this.#newest && !this.#known.has(tag);
  }

  /** Requests every message after the last delivered one. */
  async #recover(isFirst) {
    if (this.#recovering || this.#isClosed) return;
    this.#recovering = true;
    const connection = this.#connection;
    const isOver = () => this.#isClosed || connection !== this.#connection;
    let missed = 0;
    let complete = true;
    let arrived = 0;
    try {
      for (;;) {
        const { offset: after, tag } = this.position;
        arrived = this.#waiting.length;
        this.#hasDropped = false;
        const page = await this.#request('history', { room: this.name, after, tag, limit: PAGE });
        if (isOver()) return;
        complete &&= page.complete;
        missed += this.#take(page);
        const isLast = page.messages.length === 0 || this.position.offset >= page.offset;
        if (isLast && !this.#hasDropped) break;
      }
    } catch (error) {
      if (isOver()) return;
      this.#recovering = false;
      const passes = PASSING.includes(error.code);
      this.#failures = passes ? 0 : this.#failures + 1;
      this.#isBackingOff = !passes;
      this.#timer = setTimeout(
        () => {
          this.#isBackingOff = false;
          this.#recover(isFirst);
        },
        Math.min(RETRY_MS * 2 ** this.#failures, MAX_RETRY_MS),
      );
      if (!passes) this.refused(error);
      return;
    }
    this.#recovering = false;
    this.#failures = 0;
    // The last page was requested after these had come: they are delivered, or lost.
    this.#waiting.splice(0, arrived);
    this.#tell('onRecovered', { room: this.name, missed, complete, isFirst });
    this.#drain();
  }

  /** Delivers a page. Returns how many of its messages were new. */
  #take({ messages, after, offset, tag, lost }) {
    // The clock of the lost messages may have been ahead: those that follow need not have higher tags.
    if (lost) this.#newest = Math.min(this.#newest, tag);
    // What is not on the page is gone, or the client has read it before the server lost messages.
    if (after === offset) this.position = { offset, tag: offset === 0 ? this.#newest : tag };
    else if (lost || after > this.position.offset) this.position = { offset: after, tag: 0 };
    return messages.filter((message) => this.#deliver(message)).length;
  }
}
