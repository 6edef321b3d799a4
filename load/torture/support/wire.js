import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** A way to a server on the loopback interface that can be cut, or whose connections can fall silent. */
export class Wire {
  #server;
  #sockets = new Set();
  #isCut = false;

  /** @param {number} port of the server */
  static async to(port) {
    const wire = new Wire();
    wire.#server = createServer((near) => wire.#join(near, port)).listen(0, '127.0.0.1');
    await once(wire.#server, 'listening');
    wire.url = `redis://127.0.0.1:${wire.#server.address().port}`;
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

  #join(near, port) {
    if (this.#isCut) return near.destroy();
    const far = connect(port, '127.0.0.1');
    joinSockets(near, far, this.#sockets);
  }
}

/** Passes on what two sockets receive, and ends both together. @param {Set<import('node:net').Socket>} open both, while they are */
export function joinSockets(near, far, open) {
  for (const [one, other] of [
    [near, far],
    [far, near],
  ]) {
    open.add(one);
    one.pipe(other);
    one.on('error', () => {});
    one.on('close', () => {
      open.delete(one);
      other.destroy();
    });
  }
}
