// Rooms for socket.io-client that lose nothing: every message arrives once and in order, across reconnections.
//
//   import { io } from 'socket.io-client';
//   import { Rooms } from 'gjallar/client';        // in a page: '/gjallar-client.js' and the global `io`
//
//   const rooms = new Rooms(io('http://localhost:3000'));
//   await rooms.join('hall', { last: 50, onMessage: ({ from, text }) => console.log(from, text) });
//
// The server counts a room's messages without gaps (`offset`), and names the log that it counts in (`epoch`). The client
// holds messages that arrive early, drops duplicates, and requests missing messages.
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
 * The position of a message: `offset` counts the messages of a log from 1 without gaps, `epoch` names the log.
 * @typedef {Required<import('../dist/service/chat/protocol.js').PostReply>} RoomPosition
 */

/** @typedef {{ ok: true } & import('../dist/service/chat/protocol.js').JoinReply} JoinResult The server's reply to a join. */

/**
 * A join that succeeded. `isFirst`: whether it was the first. `missing`: the number of earlier messages that are
 * delivered now; for a new log, the number of its messages.
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
 * @typedef {{ room: string, epoch: string, offset: number, event: string, values: any[] }} DurableMessage An event of a
 *   durable room, without its position.
 */

/**
 * @template [Message=RoomMessage]
 * @typedef {object} JoinOptions
 * @property {(message: Message) => void} [onMessage] Called with each message once, in the order of the room.
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
/** How many earlier logs of a room are remembered. */
const MAX_EARLIER = 16;
/** A request that the server fails to answer is repeated more and more seldom, up to this time. */
const MAX_RETRY_MS = 30_000;
/** How many messages wait for missing ones. What exceeds that is requested. */
const MAX_WAITING = 10_000;
/** Errors that pass: the request is repeated. */
const PASSING = ['LOST', 'HISTORY_UNAVAILABLE', 'OVERLOADED', 'RATE_LIMITED'];

/**
 * @template [V=unknown]
 * @typedef {object} StateMapOptions
 * @property {string} watch The event with which the server lets a client join: `socket.on('watch', (options, ack) =>
 *   ack(room.join(socket, options)))`. The client emits it after each connection, with its version.
 * @property {string} [room] The name of the room, for the chat service, whose event is `state:` and this name.
 * @property {number} [maxRate] How many updates a second the server sends at most, from 0.01 to 1,000. The server rejects other
 *   values with BAD_INPUT. Default: as many as the client reads.
 * @property {(error: RoomError) => void} [onError] Called if the server rejects the client with another code than STATE_BUSY.
 *   The client then tries again only after the next connection.
 * @property {(map: StateMap<V>, keys: string[]) => void} [onChange] Called after each message, with the keys that changed. A
 *   snapshot replaces all keys.
 */

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
 * const quotes = new StateMap(socket, 'quote', { watch: 'watch', onChange: () => show([...quotes]) });
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
  /** What has changed since the last call of `onChange`. */
  #changed = new Set();
  /** The shortest difference between this clock and the server's: what arrives later than that has waited somewhere. */
  #delay = Number.POSITIVE_INFINITY;
  #lateTimer;
  /** Whether the server knows of this connection that the client acknowledges. */
  #acknowledges = false;

  /**
   * @param {SocketLike} socket
   * @param {string} event the event of the room's changes
   * @param {StateMapOptions<V>} options
   */
  constructor(socket, event, options) {
    super();
    this.#socket = socket;
    this.#event = event;
    this.#options = options;
    socket.on(event, this.#receive);
    socket.on('connect', this.#watch);
    if (socket.connected) this.#watch();
  }

  /** Stops following the room. The values stay. */
  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#lateTimer);
    // The server waits for no marks any more.
    if (this.#acknowledges) acknowledge(this.#socket, this.#event, -1);
    this.#socket.off(this.#event, this.#receive);
    this.#socket.off('connect', this.#watch);
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
      else if (reply?.ok === false) this.#options.onError?.(new RoomError(reply.code, reply.message));
    });
  };

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
    this.#options.onChange?.(this, keys);
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
 * Rooms of which the client misses nothing.
 * @template Message
 */
class KeptRooms {
  #socket;
  #rooms = new Map();
  #events;
  #listeners;
  #reads = 0;
  #waitingReads = [];

  /**
   * @param {SocketLike} socket
   * @param {{ join: string, leave: string, history: string }} events
   */
  constructor(socket, events) {
    this.#socket = socket;
    this.#events = events;
    this.#listeners = { connect: () => this.#onConnect(), disconnect: () => this.#onDisconnect() };
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
   * Joins a room, and joins it again after every reconnection. Resolves with the server's reply to the first join.
   * Rejects with a {@link RoomError} if the server rejects the join or does not answer.
   * @param {string} name
   * @param {JoinOptions<Message>} [options]
   * @returns {Promise<JoinResult>}
   */
  async join(name, options = {}) {
    const known = this.#rooms.get(name);
    const { join, history } = this.#events;
    const request = (event, payload) =>
      event === 'history' ? this.#read(history, payload) : this.#request(join, payload);
    const room = known ?? new Room(name, options, request);
    this.#rooms.set(name, room);
    try {
      return await room.join();
    } catch (error) {
      // A join without an answer is tried again with the next connection; a rejected one is not.
      if (error.code !== 'LOST' && !known) this.#forget(name);
      throw error;
    }
  }

  /**
   * Leaves a room. Rejects with a {@link RoomError} if the server does not answer.
   * @param {string} name
   * @returns {Promise<{ ok: true }>}
   */
  async leave(name) {
    this.#forget(name);
    return this.#request(this.#events.leave, name);
  }

  /**
   * The position of the last delivered message of a room, to continue from later; undefined if there is none.
   * @param {string} name
   * @returns {RoomPosition | undefined}
   */
  position(name) {
    return this.#rooms.get(name)?.position;
  }

  /**
   * Removes all listeners from the socket, and leaves its connection as it is.
   * @returns {void}
   */
  close() {
    for (const [event, listener] of Object.entries(this.#listeners)) this.#socket.off(event, listener);
    for (const name of [...this.#rooms.keys()]) this.#forget(name);
  }

  #forget(name) {
    this.#rooms.get(name)?.close();
    this.#rooms.delete(name);
  }

  #onConnect() {
    // Each room reports its own rejection to its `onRefused`.
    for (const room of this.#rooms.values()) room.join().catch((error) => room.refused(error));
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
 * @extends {KeptRooms<RoomMessage>}
 */
export class Rooms extends KeptRooms {
  #socket;
  #listeners = { message: (message) => this._receive(message), deleted: (event) => this._deleted(event) };

  /** @param {SocketLike} socket */
  constructor(socket) {
    super(socket, { join: 'join', leave: 'leave', history: 'history' });
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
 * Durable rooms of an application (`durableRooms()` of `gjallar/history`): every event arrives once and in order, across
 * reconnections.
 *
 * ```
 * const rooms = new DurableRooms(socket);
 * await rooms.join('order:7', { last: 20, onMessage: ({ event, values }) => show(event, ...values) });
 * ```
 * @extends {KeptRooms<DurableMessage>}
 */
export class DurableRooms extends KeptRooms {
  #socket;
  #listener = (event, ...values) => {
    // With the recovery of connections, an offset may follow.
    const at = typeof values.at(-1) === 'string' ? -2 : -1;
    const position = values.at(at);
    if (typeof position?.epoch !== 'string' || typeof position.room !== 'string') return;
    const { room, epoch, offset } = position;
    this._receive({ room, epoch, offset, event, values: values.slice(0, at) });
  };

  /** @param {SocketLike & { onAny(listener: never): unknown, offAny(listener?: never): unknown }} socket */
  constructor(socket) {
    super(socket, { join: 'durable:join', leave: 'durable:leave', history: 'durable:read' });
    this.#socket = socket;
    socket.onAny(this.#listener);
  }

  /** @override */
  close() {
    this.#socket.offAny(this.#listener);
    super.close();
  }
}

/** One room's messages, put in order. */
class Room {
  /** The position of the last delivered message; undefined until the first join has succeeded. */
  position;
  /** How far earlier logs were read, newest first. */
  #earlier = [];
  #name;
  #options;
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

  constructor(name, options, request) {
    this.#name = name;
    this.#options = options;
    this.#request = request;
    this.position = options.position;
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
    this.#recovering = false;
    this.#isBackingOff = false;
    clearTimeout(this.#timer);
  }

  close() {
    this.#isClosed = true;
    this.onDisconnect();
  }

  refused(error) {
    if (error.code !== 'LOST' && !this.#isClosed) this.#options.onRefused?.(error);
  }

  receive(message) {
    if (message.offset === undefined) return this.#options.onMessage?.(message);
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push(message);
    else this.#hasDropped = true;
    this.#drain();
  }

  /** The operator has deleted messages. Those that are not delivered yet never will be. */
  deleted(event) {
    const { epoch, ranges } = event;
    if (epoch === this.position?.epoch && !this.#recovering) {
      for (const [first, last] of ranges) {
        const isNext = first <= this.position.offset + 1 && last > this.position.offset;
        if (isNext) this.position = { epoch, offset: last };
      }
    }
    this.#options.onDeleted?.(event);
    this.#drain();
  }

  async #join() {
    const connection = this.#connection;
    const reply = await this.#request('join', this.#name).catch((error) => this.#retryJoin(error, connection));
    if (this.#isClosed || connection !== this.#connection) return reply;
    const { epoch, offset } = reply;
    if (offset === undefined) {
      this.#options.onJoined?.({ ...reply, isFirst: !this.#hasJoined, missing: 0 });
      this.#hasJoined = true;
      return reply;
    }
    const isFirst = !this.position;
    this.position ??= { epoch, offset: Math.max(0, offset - (this.#options.last ?? 0)) };
    const isSameLog = this.position.epoch === epoch;
    const missing = isSameLog ? Math.max(0, offset - this.position.offset) : offset;
    this.#options.onJoined?.({ ...reply, isFirst, missing });
    if (!isSameLog || missing > 0 || this.#hasDropped) await this.#recover(isFirst);
    else this.#drain();
    return reply;
  }

  /** Retries the join of a room that was joined before the connection was lost, until the server can answer. */
  #retryJoin(error, connection) {
    if (this.position && PASSING.includes(error.code) && !this.#isClosed && connection === this.#connection) {
      this.#timer = setTimeout(() => this.join().catch((reason) => this.refused(reason)), RETRY_MS);
    }
    throw error;
  }

  #drain() {
    if (!this.position || this.#recovering) return;
    this.#waiting = this.#waiting.filter(
      ({ epoch, offset }) => epoch !== this.position.epoch || offset > this.position.offset,
    );
    this.#waiting.sort((a, b) => a.offset - b.offset);
    while (this.#isNext(this.#waiting[0])) this.#deliver(this.#waiting.shift());
    const lacks = this.#waiting.length > 0 || this.#hasDropped;
    if (lacks && !this.#joining && !this.#isBackingOff) this.#recover(false);
  }

  #isNext(message) {
    return message?.epoch === this.position.epoch && message.offset === this.position.offset + 1;
  }

  #deliver(message) {
    this.position = { epoch: message.epoch, offset: message.offset };
    if (!message.deleted) this.#options.onMessage?.(message);
  }

  /** Requests every message after the last delivered one. */
  async #recover(isFirst) {
    if (this.#recovering || this.#isClosed) return;
    this.#recovering = true;
    const connection = this.#connection;
    const isOver = () => this.#isClosed || connection !== this.#connection;
    let missed = 0;
    let complete = true;
    let outdated;
    try {
      for (;;) {
        const { epoch, offset: after } = this.position;
        outdated = this.#waiting.length;
        this.#hasDropped = false;
        const page = await this.#request('history', { room: this.#name, epoch, after, limit: PAGE });
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
    // Messages of another log that came before the last page was requested are of an earlier one, and cannot be delivered.
    this.#waiting = this.#waiting.filter(({ epoch }, index) => epoch === this.position.epoch || index >= outdated);
    this.#options.onRecovered?.({ room: this.#name, missed, complete, isFirst });
    this.#drain();
  }

  /** Delivers a page. Returns how many of its messages were new. */
  #take(page) {
    if (page.epoch !== this.position.epoch) this.#enter(page);
    const fresh = page.messages.filter(({ offset }) => offset > this.position.offset);
    for (const message of fresh) this.#deliver(message);
    // What the log does not have between its messages and the end of the page is gone.
    if (page.messages.length === 0 && page.offset > this.position.offset) {
      this.position = { epoch: page.epoch, offset: page.offset };
    }
    return fresh.filter(({ deleted }) => !deleted).length;
  }

  /** Continues in a new log, behind what it has in common with those that this client has read. */
  #enter({ epoch, offset, messages, former }) {
    const { position } = this;
    this.#earlier = [position, ...this.#earlier.filter((one) => one.epoch !== position.epoch)].slice(0, MAX_EARLIER);
    this.position = { epoch, offset: former ? this.#sharedWith([{ epoch, offset, kept: true }, ...former]) : guess() };

    /** Older servers do not say what the log continues. */
    function guess() {
      return messages[0]?.offset === 1 || offset < position.offset ? 0 : position.offset;
    }
  }

  /** The end of the newest part that a log shares with an earlier one; otherwise that of the last one that lost messages. */
  #sharedWith(epochs) {
    for (const { epoch, offset } of epochs) {
      const known = this.#earlier.find((one) => one.epoch === epoch);
      if (known) return Math.min(known.offset, offset);
    }
    return epochs.find(({ kept }) => !kept)?.offset ?? 0;
  }
}
