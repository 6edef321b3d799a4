import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { pass } from './until.js';

/** A way to a server that can be cut and mended, or held up: whoever comes over it while it is cut finds nobody. */
export class Wire {
  #sockets = new Set();
  /** The connections: from a client, and to the server. */
  #ways = new Map();
  #isCut = false;
  #server;
  /** How many connections were made so far. */
  connections = 0;
  /** By how much what the server sends is late, in ms. */
  answersLateBy = 0;
  /** Whether what the server sends gets lost. */
  losesAnswers = false;

  /** @param {number | (() => number | undefined)} to port of the server, on the loopback interface; undefined refuses a connection */
  static async to(to) {
    const wire = new Wire(typeof to === 'function' ? to : () => to);
    await once(wire.#server, 'listening');
    return wire;
  }

  /** @param {() => number | undefined} portNow */
  constructor(portNow) {
    this.#server = createServer((near) => this.#join(near, portNow())).listen(0, '127.0.0.1');
  }

  /** @returns {number} */
  get port() {
    return this.#server.address().port;
  }

  cut() {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend() {
    this.#isCut = false;
  }

  /** From now on, what clients send waits. New connections work. */
  hold() {
    for (const [near, far] of this.#ways) near.unpipe(far).pause();
  }

  /** From now on, what the server sends waits. */
  holdAnswers() {
    for (const far of this.#ways.values()) far.pause();
  }

  /** What has waited goes on. */
  release() {
    for (const [near, far] of this.#ways) {
      near.unpipe(far).pipe(far);
      far.resume();
    }
  }

  close() {
    this.cut();
    this.#server.close();
  }

  #answer(near, far) {
    far.on('data', async (bytes) => {
      if (this.losesAnswers) return;
      if (this.answersLateBy > 0) await pass(this.answersLateBy);
      near.write(bytes);
    });
    far.on('end', () => near.end());
  }

  #join(near, port) {
    if (this.#isCut || port === undefined) return near.destroy();
    this.connections++;
    const far = connect(port, '127.0.0.1');
    this.#ways.set(near, far);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ]) {
      this.#sockets.add(one);
      if (one === near) near.pipe(far);
      else this.#answer(near, far);
      one.on('error', () => {});
      one.on('close', () => {
        this.#sockets.delete(one);
        this.#ways.delete(one);
        other.destroy();
      });
    }
  }
}
