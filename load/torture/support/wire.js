import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** A way to a server on the loopback interface that can be cut, or whose connections can fall silent. */
export class Wire {
  #server;
  #sockets = new Set();
  #isCut = false;

  /** @param {number | (() => number | undefined)} to port of the server; undefined refuses a connection */
  static async to(to, scheme = 'redis') {
    const wire = new Wire();
    const portNow = typeof to === 'function' ? to : () => to;
    wire.#server = createServer((near) => wire.#join(near, portNow())).listen(0, '127.0.0.1');
    await once(wire.#server, 'listening');
    wire.url = `${scheme}://127.0.0.1:${wire.#server.address().port}`;
    return wire;
  }

  cut() {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend() {
    this.#isCut = false;
  }

  /** The connections that there are carry nothing more, and stay open. New ones work. */
  silence() {
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.pause();
    }
  }

  close() {
    this.cut();
    this.#server.close();
  }

  /** Passes on what two sockets receive, and ends both together. */
  #join(near, port) {
    if (this.#isCut || port === undefined) return near.destroy();
    const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ]) {
      this.#sockets.add(one);
      one.pipe(other);
      one.on('error', () => {});
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }
}
