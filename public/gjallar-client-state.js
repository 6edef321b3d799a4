import { Listening, REPLY_TIMEOUT_MS, RETRY_MS, RoomError } from './gjallar-client-base.js';

/** How often the client says at most what it has read of state rooms, in ms. */
const ACK_MS = 100;
/** A value that arrives so much later than others is not shown for a while: newer ones follow, in ms. */
const LATE_MS = 1000;
const MAX_LATE_MS = 1000;
/** The event with which a client leaves a room, by the one with which it has joined. */
const LEAVES = new Map([
  ['state:join', 'state:leave'],
  ['watch', 'unwatch'],
]);
/** The maps of each socket that are not closed. */
const open = new WeakMap();

/** The newest value of each key of a state room, across reconnections. */
export class StateMap extends Listening(Map) {
  isComplete = false;
  #socket;
  #name;
  /** The event of the room: its name, if the server's reply has no other one. */
  #event;
  #options;
  #version;
  #timer;
  /** The maps of the socket. This one is among them until it is closed. */
  #open;
  /** What has changed since the last `change`. */
  #changed = new Set();
  /** The shortest difference between this clock and the server's: what arrives later than that has waited somewhere. */
  #delay = Number.POSITIVE_INFINITY;
  #lateTimer;
  /** Whether the server knows of this connection that the client acknowledges. */
  #acknowledges = false;

  constructor(socket, name, options = {}) {
    super();
    this.#socket = socket;
    this.#name = name;
    this.#options = { watch: 'state:join', ...options };
    this.#open = (open.get(socket) ?? new Set()).add(this);
    open.set(socket, this.#open);
    this.#listenFor(name);
    socket.on('connect', this.#watch);
    if (socket.connected) this.#watch();
  }

  close() {
    if (!this.#open.delete(this)) return;
    clearTimeout(this.#timer);
    clearTimeout(this.#lateTimer);
    this.#socket.off(this.#event, this.#receive);
    this.#socket.off('connect', this.#watch);
    const { watch } = this.#options;
    for (const other of this.#open) if (other.#name === this.#name && other.#options.watch === watch) return;
    // An application may keep the client in the room: then the server waits for no marks any more.
    if (this.#acknowledges) acknowledge(this.#socket, this.#event, -1);
    const leave = LEAVES.get(watch);
    if (leave && this.#socket.connected) this.#socket.emit(leave, this.#name, () => {});
  }

  #listenFor(event) {
    this.#socket.off(this.#event, this.#receive);
    this.#event = event;
    this.#socket.on(event, this.#receive);
  }

  #watch = () => {
    clearTimeout(this.#timer);
    this.#delay = Number.POSITIVE_INFINITY;
    this.#acknowledges = false;
    const { watch, maxRate } = this.#options;
    const { id } = this.#socket;
    const request = { room: this.#name, version: this.#version, maxRate };
    this.#socket.timeout(REPLY_TIMEOUT_MS).emit(watch, request, (error, reply) => {
      // After a reconnection, the next request is in progress.
      if (this.#socket.id !== id || !this.#open.has(this)) return;
      if (error || reply?.code === 'STATE_BUSY') this.#timer = setTimeout(this.#watch, RETRY_MS);
      else if (reply?.ok === false) {
        if (this._call('error', new RoomError(reply.code, reply.message))) return;
        console.warn(`The state room "${this.#name}" rejects this client. ${reply.code}: ${reply.message}`);
      }
      // The server sends changes only after its reply.
      else if (typeof reply?.event === 'string' && reply.event !== this.#event) this.#listenFor(reply.event);
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
    const isLate = isWhole && !snapshot && delay > this.#delay + LATE_MS;
    if (!isLate) return this.#report();
    // This client has not read for a while, and newer values follow once the server knows that it does.
    this.isComplete = false;
    this.#lateTimer ??= setTimeout(() => {
      // It is a clock that has changed, or a slow network.
      this.#delay = delay;
      this.isComplete = !more;
      this.#report();
    }, MAX_LATE_MS);
  };

  #report() {
    clearTimeout(this.#lateTimer);
    this.#lateTimer = undefined;
    const keys = [...this.#changed];
    this.#changed.clear();
    this._call('change', keys);
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
