import { isDeepStrictEqual } from 'node:util';
import { io } from 'socket.io-client';

/**
 * A client that follows the room as the guide says, and reports a value that is older than one it has shown. Values are
 * `{ n }`, and `n` rises with each change of a key.
 */
export class Follower {
  shown = new Map();
  /** What it has shown since its last snapshot that was newer than what came later: `key: before, after`. */
  wentBack = [];
  snapshots = 0;
  returns = 0;
  /** Whether its connection has ended. */
  isGone = false;
  #version;
  #newest = new Map();
  #socket;
  #isPaused = false;

  /** @param {(key: string) => boolean} isOrdered whether the values of a key have one order */
  constructor(isOrdered, maxRate, acknowledges) {
    this.isOrdered = isOrdered;
    this.maxRate = maxRate;
    this.acknowledges = acknowledges;
  }

  /** Connects to a worker, and continues from the last version. */
  connect({ url }) {
    const former = this.#socket;
    const socket = io(url, { forceNew: true, transports: ['websocket'], reconnection: false });
    this.#socket = socket;
    this.#isPaused = false;
    this.isGone = false;
    former?.disconnect();
    if (this.#version !== undefined) this.returns++;
    socket.on('quote', (changes, meta) => this.#receive(changes, meta));
    socket.on('connect', () =>
      socket.emit('watch', { version: this.#version, maxRate: this.maxRate }, () => this.#acknowledge(0)),
    );
    const onEnd = () => {
      if (this.#socket === socket) this.isGone = true;
    };
    socket.on('disconnect', onEnd);
    socket.on('connect_error', onEnd);
  }

  /** Stops to read, or goes on. */
  set isPaused(isPaused) {
    const tcp = this.#socket.io.engine?.transport?.ws?._socket;
    if (!tcp || this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) tcp.pause();
    else tcp.resume();
  }

  close() {
    this.#socket?.disconnect();
  }

  /** The keys that it shows otherwise than they are. */
  wrong(state) {
    const keys = new Set([...this.shown.keys(), ...state.keys()]);
    return [...keys].filter((key) => !isDeepStrictEqual(this.shown.get(key), state.get(key)));
  }

  #acknowledge(mark = -1) {
    if (this.acknowledges && mark >= 0) this.#socket.emit('state:ack', { quote: mark });
  }

  #receive(changes, { version, snapshot, mark }) {
    this.#acknowledge(mark);
    if (snapshot) {
      this.snapshots++;
      this.shown.clear();
      this.#newest.clear();
    }
    for (const [key, ...value] of changes) {
      if (value.length === 0) this.shown.delete(key);
      else this.#show(key, value[0]);
    }
    this.#version = version;
  }

  #show(key, value) {
    const before = this.#newest.get(key) ?? 0;
    if (value.n < before && this.isOrdered(key)) this.wentBack.push(`${key}: ${before}, ${value.n}`);
    this.#newest.set(key, value.n);
    this.shown.set(key, value);
  }
}
