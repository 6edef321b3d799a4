import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { joinSockets } from '../support/wire.js';

const CHECK_MS = 100;

/** A TCP load balancer: new connections go to the first server that is ready. */
export class Front {
  /** In the order of preference. */
  servers = [];
  #ready = new Set();
  #sockets = new Set();
  #listener = createServer((client) => this.#join(client));
  #timer;

  static async start(servers) {
    const front = new Front();
    front.servers = servers;
    await front.#check();
    front.#timer = setInterval(() => front.#check(), CHECK_MS);
    front.#listener.listen(0, '127.0.0.1');
    await once(front.#listener, 'listening');
    return front;
  }

  get url() {
    return `http://127.0.0.1:${this.#listener.address().port}`;
  }

  async #check() {
    await Promise.all(
      this.servers.map(async (server) => {
        const isReady = await fetch(`${server.url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        );
        if (isReady) this.#ready.add(server);
        else this.#ready.delete(server);
      }),
    );
  }

  #join(client) {
    const server = this.servers.find((one) => this.#ready.has(one));
    if (!server) return client.destroy();
    const far = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    joinSockets(client, far, this.#sockets);
  }

  close() {
    clearInterval(this.#timer);
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
