// The page's only Socket.IO connection: its state, its transport, the worker that answers, and the round-trip time.

import { io } from '/socket.io/socket.io.esm.min.js';

const REQUEST_TIMEOUT_MS = 10_000;
const ECHO_INTERVAL_MS = 3_000;
const RETRY_DELAY_MS = 1_000;

/** Events: `status` (anything in `status` changed), and `identified` (the server has named the user of a token). */
export class Connection extends EventTarget {
  /** The Socket.IO socket. */
  socket;
  /** With a token, empty until the server has named the user. */
  name = '';
  #token = '';

  /**
   * `state` is one of `connecting`, `connected`, `reconnecting`, `rejected`; `rtt` is in milliseconds. `problem` is the
   * error, with `code` and `message`, that a rejected client got.
   */
  status = { state: 'connecting', transport: '', worker: '', rtt: null, problem: null };

  constructor() {
    super();
    // A function, so that every reconnection sends the current name or token.
    const auth = (send) => send(this.#token ? { token: this.#token } : { name: this.name });
    this.socket = io({ autoConnect: false, auth });
    this.socket.on('connect', () => {
      this.#update({ state: 'connected', problem: null });
      this.#readTransport();
      if (this.#token && !this.name) this.#identify();
    });
    this.socket.on('disconnect', (reason) => {
      this.#update({ state: 'reconnecting', transport: '', worker: '', rtt: null });
      // The client reconnects by itself, unless the server ended the connection.
      if (reason === 'io server disconnect') setTimeout(() => this.socket.connect(), RETRY_DELAY_MS);
    });
    this.socket.on('connect_error', ({ data, message }) => {
      // `active` is true if the server is unreachable, which the client retries, and false if it rejected the client.
      if (this.socket.active) this.#update({ state: 'reconnecting' });
      else this.#update({ state: 'rejected', problem: { code: data?.code, message } });
    });
    // Each reconnection makes a new engine. `open` always precedes the upgrade; `connect` may not.
    this.socket.io.on('open', () => this.socket.io.engine.on('upgrade', () => this.#readTransport()));
    setInterval(() => this.#measure(), ECHO_INTERVAL_MS);
  }

  /** Whether a token proves that the name is this user's. Any client may have a name without one. */
  get isProven() {
    return this.#token !== '';
  }

  /**
   * Connects under this name; with a token, the server says which name it stands for. Both are part of the handshake, so
   * another one means another connection.
   */
  open({ name, token }) {
    const isSame = token === this.#token && (token || name === this.name);
    if (isSame && this.socket.active) return;
    this.name = token ? '' : name;
    this.#token = token;
    this.socket.disconnect();
    this.#update({ state: 'connecting', problem: null });
    this.socket.connect();
  }

  /**
   * Sends an event and resolves with the server's reply; rejects with an error that has its `code`, or `LOST` without
   * a reply. Only useful when connected.
   */
  async request(event, payload) {
    const lost = { code: 'LOST', message: 'The server did not answer. The message may have arrived anyway.' };
    const reply = await this.socket
      .timeout(REQUEST_TIMEOUT_MS)
      .emitWithAck(event, payload)
      .catch(() => lost);
    if (reply.ok) return reply;
    throw Object.assign(new Error(reply.message), { code: reply.code });
  }

  /** Called with the worker that the reply to a join names. */
  answeredBy(worker) {
    this.#update({ worker: String(worker) });
  }

  /** Sends the token again as an event, because the reply to that names its user. */
  async #identify() {
    const token = this.#token;
    const isOver = () => token !== this.#token || !this.socket.connected;
    try {
      const { name } = await this.request('token', token);
      if (isOver()) return;
      this.name = name;
      this.#announce('identified', { name });
    } catch (problem) {
      if (isOver()) return;
      if (problem.code !== 'TOKENS_OFF') {
        setTimeout(() => isOver() || this.#identify(), RETRY_DELAY_MS);
        return;
      }
      this.socket.disconnect();
      this.#update({ state: 'rejected', problem });
    }
  }

  #readTransport() {
    this.#update({ transport: this.socket.io.engine.transport.name });
    this.#measure();
  }

  /** Times one `echo`. A page in the background sends none. */
  async #measure() {
    if (!this.socket.connected || document.hidden) return;
    const start = performance.now();
    try {
      await this.socket.timeout(REQUEST_TIMEOUT_MS).emitWithAck('echo', start);
      this.#update({ rtt: performance.now() - start });
    } catch {
      // A lost echo has no round-trip time. A lost connection is reported by its own event.
    }
  }

  #update(changes) {
    this.status = { ...this.status, ...changes };
    this.#announce('status', this.status);
  }

  #announce(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
