import { io } from 'socket.io-client';
import { soon } from '../../harness/until.js';

/** How many clients connect at a time. */
const AT_ONCE = 100;

/** Clients of socket.io that return after each disconnection. What they hear and check is for a subclass. */
export class Crowd {
  /** Each has its `socket`, and `since` when it has been without a connection, in ms. */
  clients = [];
  disconnects = 0;
  reconnects = 0;
  /** Reconnects after which the client had its session again. */
  recovered = 0;
  /** How long each client was without a connection, in ms. */
  outages = [];
  /** The number of failed attempts to connect, by message. */
  errors = new Map();
  #isOpen = true;

  /**
   * Adds a client.
   * @param {string} url
   * @param {object} [options] of socket.io-client
   * @param {object} [state] what else the client has
   */
  add(url, options, state) {
    const socket = io(url, { forceNew: true, ...options });
    const client = { ...state, socket, since: undefined, hasConnected: false };
    socket.on('connect', () => {
      const isReturn = client.hasConnected;
      client.hasConnected = true;
      if (isReturn) {
        this.reconnects++;
        if (socket.recovered) this.recovered++;
        this.outages.push(performance.now() - client.since);
        client.since = undefined;
      }
      this.onConnect(client, isReturn);
    });
    socket.on('disconnect', () => {
      client.since ??= performance.now();
      if (this.#isOpen) this.disconnects++;
    });
    socket.on('connect_error', ({ message }) => this.errors.set(message, (this.errors.get(message) ?? 0) + 1));
    this.clients.push(client);
    return client;
  }

  /** Adds clients, some at a time. @param {(index: number) => unknown} add */
  async fill(count, add, within = 60_000) {
    for (let index = 0; index < count; index++) {
      add(index);
      if (index % AT_ONCE === AT_ONCE - 1) await this.untilConnected(within);
    }
    if (!(await this.untilConnected(within))) throw new Error('not all clients connect');
  }

  /** A client is connected, for the first time or again. */
  onConnect() {}

  get size() {
    return this.clients.length;
  }

  get disconnected() {
    return this.clients.filter(({ socket }) => !socket.connected).length;
  }

  /** The failed attempts to connect, as text. */
  get failures() {
    return [...this.errors].map(([message, count]) => `${count} × ${message}`).join(', ') || 'none';
  }

  sum(numberOf) {
    return this.clients.reduce((sum, client) => sum + numberOf(client), 0);
  }

  /** Resolves when all clients are connected; false if that takes longer than the given time, in ms. */
  untilConnected(timeout) {
    return soon(() => this.disconnected === 0, timeout);
  }

  close() {
    this.#isOpen = false;
    for (const { socket } of this.clients) socket.disconnect();
  }
}
