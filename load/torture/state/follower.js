import { isDeepStrictEqual } from 'node:util';
import { io } from 'socket.io-client';
import { StateMap } from '../../../public/gjallar-client.js';

/**
 * A client that follows the room from one worker to the next, and reports a value that is older than one it has shown. Values
 * are `{ n }`, and `n` rises with each change of a key.
 */
export class Follower extends StateMap {
  /** What it has shown since its last snapshot that was newer than what came later: `key: before, after`. */
  wentBack = [];
  snapshots = 0;
  returns = 0;
  /** Whether its connection has ended. */
  isGone = false;
  #newest = new Map();
  #socket;
  #isOrdered;

  /**
   * @param {{ url: string }} worker that it connects to first
   * @param {(key: string) => boolean} isOrdered whether the values of a key have one order
   * @param {number | undefined} maxRate
   * @param {boolean} acknowledges
   */
  constructor({ url }, isOrdered, maxRate, acknowledges) {
    const socket = io(url, { forceNew: true, transports: ['websocket'], reconnection: false });
    super(socket, 'quote', { watch: 'watch', room: 'quotes', maxRate });
    this.#socket = socket;
    this.#isOrdered = isOrdered;
    const { emit } = socket;
    if (!acknowledges) socket.emit = (...event) => (event[0] === 'state:ack' ? socket : emit.apply(socket, event));
    for (const end of ['disconnect', 'connect_error']) {
      socket.on(end, () => {
        this.isGone = true;
      });
    }
  }

  /** Moves to a worker, and continues from the last version. */
  moveTo({ url }) {
    if (this.snapshots > 0) this.returns++;
    this.#socket.disconnect();
    this.#socket.io.uri = url;
    this.isGone = false;
    this.#socket.connect();
  }

  /** Stops to read, or goes on. */
  set isPaused(isPaused) {
    const tcp = this.#socket.io.engine?.transport?.ws?._socket;
    if (isPaused) tcp?.pause();
    else tcp?.resume();
  }

  disconnect() {
    this.#socket.disconnect();
  }

  /** The keys that it shows otherwise than they are. */
  wrong(state) {
    const keys = new Set([...this.keys(), ...state.keys()]);
    return [...keys].filter((key) => !isDeepStrictEqual(this.get(key), state.get(key)));
  }

  /** A snapshot comes. */
  clear() {
    this.snapshots++;
    this.#newest.clear();
    super.clear();
  }

  set(key, value) {
    const before = this.#newest.get(key) ?? 0;
    if (value.n < before && this.#isOrdered(key)) this.wentBack.push(`${key}: ${before}, ${value.n}`);
    this.#newest.set(key, value.n);
    return super.set(key, value);
  }
}
