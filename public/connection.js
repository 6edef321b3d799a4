// The page's one Socket.IO connection: what state it is in, how it travels, which worker answers and how fast.

const REQUEST_TIMEOUT_MS = 10_000;
const ECHO_INTERVAL_MS = 3_000;
const RETURN_DELAY_MS = 1_000;

/** A request that was refused by the server, or that got no answer (`code` is then `TIMEOUT` or `LOST`). */
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
    // A function, so that every reconnection presents the name of that moment.
    this.#socket = globalThis.io({ autoConnect: false, auth: (send) => send({ name: this.#name }) });
    this.#socket.on('connect', () => this.#onConnect());
    this.#socket.on('disconnect', (reason) => this.#onDisconnect(reason));
    this.#socket.on('connect_error', (error) => this.#onConnectError(error));
    // The engine is a new one after each reconnection. `open` comes before the upgrade can happen, `connect` may not.
    this.#socket.io.on('open', () => this.#socket.io.engine.on('upgrade', () => this.#readTransport()));
    this.#socket.on('presence', (payload) => this.#announce('presence', payload));
    document.addEventListener('visibilitychange', () => this.#measure());
  }

  /** The Socket.IO socket, for those who know how to use it. */
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
        : new RequestError('LOST', 'The connection broke before the server answered.');
    }
    if (reply?.ok !== true)
      throw new RequestError(reply?.code ?? 'UNKNOWN', reply?.message ?? 'The server refused it.');
    return reply;
  }

  /** Joining a room tells which worker answers. */
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
    // The client comes back by itself, unless it was the server that said goodbye.
    if (reason === 'io server disconnect') setTimeout(() => this.#socket.connect(), RETURN_DELAY_MS);
  }

  #onConnectError(error) {
    // `active` tells a server that cannot be reached, which is tried again, from one that turned us away.
    if (!this.#socket.active) this.#update({ state: 'refused', problem: error.message });
    else if (this.status.state !== 'reconnecting') this.#update({ state: 'reconnecting' });
  }

  #readTransport() {
    this.#update({ transport: this.#socket.io.engine.transport.name });
    this.#measure();
  }

  /** Times one `echo`, and the next one a little later; a page in the background is left alone. */
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
      // An echo that got lost says nothing about the time; a lost connection is reported by its own event.
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
