// The page's only Socket.IO connection: its state, its transport, the worker that answers, and the round-trip time.

const REQUEST_TIMEOUT_MS = 10_000;
const ECHO_INTERVAL_MS = 3_000;
const RETURN_DELAY_MS = 1_000;

/** The server rejected a request, or did not answer it (`code` is then `TIMEOUT` or `LOST`). */
export class RequestError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * Events: `status` (anything in `status` changed), `down`, and the server's `presence`, whose payload is the event's
 * `detail`.
 */
export class Connection extends EventTarget {
  #socket;
  #name = '';
  #echoTimer = 0;

  /** `state` is one of `connecting`, `connected`, `reconnecting`, `refused`; `rtt` is in milliseconds. */
  status = { state: 'connecting', transport: '', worker: '', rtt: null, problem: '' };

  constructor() {
    super();
    // A function, so that every reconnection sends the current name.
    this.#socket = globalThis.io({ autoConnect: false, auth: (send) => send({ name: this.#name }) });
    this.#socket.on('connect', () => this.#onConnect());
    this.#socket.on('disconnect', (reason) => this.#onDisconnect(reason));
    this.#socket.on('connect_error', (error) => this.#onConnectError(error));
    // Each reconnection makes a new engine. `open` always precedes the upgrade; `connect` may not.
    this.#socket.io.on('open', () => this.#socket.io.engine.on('upgrade', () => this.#readTransport()));
    this.#socket.on('presence', (payload) => this.#announce('presence', payload));
    document.addEventListener('visibilitychange', () => this.#measure());
  }

  /** The Socket.IO socket. */
  get socket() {
    return this.#socket;
  }

  get name() {
    return this.#name;
  }

  get connected() {
    return this.#socket.connected;
  }

  /** Connects under this name. The name is part of the handshake, so another name means another connection. */
  open(name) {
    if (name === this.#name && this.#socket.active) return;
    this.#name = name;
    this.#socket.disconnect();
    this.#update({ state: 'connecting', problem: '' });
    this.#socket.connect();
  }

  /** Sends an event and resolves with the server's reply; rejects with a RequestError. Only useful when connected. */
  async request(event, payload) {
    let reply;
    try {
      reply = await this.#socket.timeout(REQUEST_TIMEOUT_MS).emitWithAck(event, payload);
    } catch {
      throw this.#socket.connected
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
    this.#update({ state: 'connected', problem: '' });
    this.#readTransport();
  }

  #onDisconnect(reason) {
    clearTimeout(this.#echoTimer);
    this.#update({ state: 'reconnecting', transport: '', worker: '', rtt: null });
    this.#announce('down');
    // The client reconnects by itself, unless the server ended the connection.
    if (reason === 'io server disconnect') setTimeout(() => this.#socket.connect(), RETURN_DELAY_MS);
  }

  #onConnectError(error) {
    // `active` is true if the server is unreachable, which the client retries, and false if it rejected the client.
    if (!this.#socket.active) this.#update({ state: 'refused', problem: error.message });
    else if (this.status.state !== 'reconnecting') this.#update({ state: 'reconnecting' });
  }

  #readTransport() {
    this.#update({ transport: this.#socket.io.engine.transport.name });
    this.#measure();
  }

  /** Times one `echo`, and schedules the next one. A page in the background sends none. */
  async #measure() {
    clearTimeout(this.#echoTimer);
    if (!this.#socket.connected || document.hidden) return;
    const timer = setTimeout(() => this.#measure(), ECHO_INTERVAL_MS);
    this.#echoTimer = timer;
    const start = performance.now();
    try {
      await this.#socket.timeout(REQUEST_TIMEOUT_MS).emitWithAck('echo', start);
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
