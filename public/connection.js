// The page's only Socket.IO connection: its state, its transport, the worker that answers, and the round-trip time.

const REQUEST_TIMEOUT_MS = 10_000;
const ECHO_INTERVAL_MS = 3_000;
const RETURN_DELAY_MS = 1_000;
const IDENTIFY_DELAY_MS = 2_000;

/** The server rejected a request, or did not answer it (`code` is then `TIMEOUT` or `LOST`). */
export class RequestError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * Events: `status` (anything in `status` changed), `identified` (the server has named the user of a token), `down`, and the
 * server's `presence`, `direct` and `deleted`, whose payload is the event's `detail`.
 */
export class Connection extends EventTarget {
  /** The Socket.IO socket. */
  socket;
  /** With a token, empty until the server has named the user. */
  name = '';
  #token = '';
  #echoTimer = 0;

  /**
   * `state` is one of `connecting`, `connected`, `reconnecting`, `rejected`; `rtt` is in milliseconds. `problem` is the
   * error, with `code` and `message`, that a rejected client got.
   */
  status = { state: 'connecting', transport: '', worker: '', rtt: null, problem: null };

  constructor() {
    super();
    // A function, so that every reconnection sends the current name or token.
    const auth = (send) => send(this.#token ? { token: this.#token } : { name: this.name });
    this.socket = globalThis.io({ autoConnect: false, auth });
    this.socket.on('connect', () => this.#onConnect());
    this.socket.on('disconnect', (reason) => this.#onDisconnect(reason));
    this.socket.on('connect_error', (error) => this.#onConnectError(error));
    // Each reconnection makes a new engine. `open` always precedes the upgrade; `connect` may not.
    this.socket.io.on('open', () => this.socket.io.engine.on('upgrade', () => this.#readTransport()));
    for (const event of ['presence', 'direct', 'deleted']) {
      this.socket.on(event, (payload) => this.#announce(event, payload));
    }
    document.addEventListener('visibilitychange', () => this.#measure());
  }

  /** Whether a token proves that the name is this user's. Any client may have a name without one. */
  get isProven() {
    return this.#token !== '';
  }

  get connected() {
    return this.socket.connected;
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

  /** Sends an event and resolves with the server's reply; rejects with a RequestError. Only useful when connected. */
  async request(event, payload) {
    let reply;
    try {
      reply = await this.socket.timeout(REQUEST_TIMEOUT_MS).emitWithAck(event, payload);
    } catch {
      throw this.socket.connected
        ? new RequestError('TIMEOUT', 'The server did not answer.')
        : new RequestError('LOST', 'The connection was lost before the server answered.');
    }
    if (reply?.ok !== true)
      throw new RequestError(reply?.code ?? 'UNKNOWN', reply?.message ?? 'The server rejected the request.');
    return reply;
  }

  /** Called with the worker that the reply to a join names. */
  answeredBy(worker) {
    this.#update({ worker: String(worker) });
  }

  #onConnect() {
    this.#update({ state: 'connected', problem: null });
    this.#readTransport();
    if (this.#token && !this.name) this.#identify();
  }

  /** Sends the token again as an event, because the reply to that names its user. */
  async #identify() {
    const token = this.#token;
    try {
      const { name } = await this.request('token', token);
      if (token !== this.#token) return;
      this.name = name;
      this.#announce('identified', { name });
    } catch (problem) {
      if (token !== this.#token || !this.socket.connected) return;
      if (problem.code !== 'TOKENS_OFF') {
        setTimeout(() => token === this.#token && this.socket.connected && this.#identify(), IDENTIFY_DELAY_MS);
        return;
      }
      this.socket.disconnect();
      this.#update({ state: 'rejected', problem });
    }
  }

  #onDisconnect(reason) {
    clearTimeout(this.#echoTimer);
    this.#update({ state: 'reconnecting', transport: '', worker: '', rtt: null });
    this.#announce('down');
    // The client reconnects by itself, unless the server ended the connection.
    if (reason === 'io server disconnect') setTimeout(() => this.socket.connect(), RETURN_DELAY_MS);
  }

  #onConnectError(error) {
    // `active` is true if the server is unreachable, which the client retries, and false if it rejected the client.
    if (!this.socket.active)
      this.#update({ state: 'rejected', problem: { code: error.data?.code, message: error.message } });
    else if (this.status.state !== 'reconnecting') this.#update({ state: 'reconnecting' });
  }

  #readTransport() {
    this.#update({ transport: this.socket.io.engine.transport.name });
    this.#measure();
  }

  /** Times one `echo`, and schedules the next one. A page in the background sends none. */
  async #measure() {
    clearTimeout(this.#echoTimer);
    if (!this.socket.connected || document.hidden) return;
    const timer = setTimeout(() => this.#measure(), ECHO_INTERVAL_MS);
    this.#echoTimer = timer;
    const start = performance.now();
    try {
      await this.socket.timeout(REQUEST_TIMEOUT_MS).emitWithAck('echo', start);
      if (this.#echoTimer === timer) this.#update({ rtt: performance.now() - start });
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
