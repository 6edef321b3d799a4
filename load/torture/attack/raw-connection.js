import { once } from 'node:events';
import { connect } from 'node:net';
import { takeFrame } from '../../harness/frame.js';
import { takeResponse } from '../fuzz/connection.js';

/** How long an answer may take while an attack is prepared, in ms. */
const PATIENCE_MS = 10_000;

/** A TCP connection that sends any bytes, from any address of the loopback network, and reads only if it wants to. */
export class RawConnection {
  isClosed = false;
  #socket;
  #bytes = Buffer.alloc(0);
  #isDiscarding = false;
  #wake = () => {};

  /** @param {number} port @param {string} address where it comes from */
  constructor(port, address) {
    this.#socket = connect({ port, host: '127.0.0.1', localAddress: address, noDelay: true });
    this.#socket.on('data', (chunk) => {
      if (this.#isDiscarding) return;
      this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
      this.#wake();
    });
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  /**
   * Writes, and waits until there is room for more.
   * @returns {Promise<boolean>} false once the connection is closed, or when there is no room for `patience` ms
   */
  async write(bytes, patience = PATIENCE_MS) {
    if (this.isClosed) return false;
    if (this.#socket.write(bytes)) return true;
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil(patience)));
    await Promise.race([once(this.#socket, 'drain', { signal }), once(this.#socket, 'close', { signal })]).catch(
      () => {},
    );
    return !this.isClosed && !signal.aborted;
  }

  /** The next HTTP response; undefined where the connection ends instead. */
  response(patience) {
    return this.#take(takeResponse, patience);
  }

  /** The next WebSocket frame; undefined where the connection ends instead. */
  frame(patience) {
    return this.#take((bytes) => {
      const frame = takeFrame(bytes);
      return frame && { value: frame, length: frame.length };
    }, patience);
  }

  /** Reads on, and throws away what comes. */
  discard() {
    this.#isDiscarding = true;
    this.#bytes = Buffer.alloc(0);
    return this;
  }

  /** Reads no more, so that the answers wait at the server. */
  stopReading() {
    this.#socket.pause();
    return this;
  }

  close() {
    this.isClosed = true;
    this.#socket.destroy();
  }

  async #take(take, patience = PATIENCE_MS) {
    const deadline = Date.now() + patience;
    for (;;) {
      const taken = take(this.#bytes);
      if (taken) {
        this.#bytes = this.#bytes.subarray(taken.length);
        return taken.value;
      }
      if (this.isClosed) return undefined;
      await this.#more(deadline - Date.now());
    }
  }

  #more(ms) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no answer in time')), Math.max(0, ms));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
