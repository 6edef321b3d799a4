import { setTimeout as sleep } from 'node:timers/promises';
import { request } from '../../../harness/connection.js';
import { Dial } from './dial.js';
import { Pace } from './pace.js';

/** Stands between the packets of a payload. */
export const SEPARATOR = '\x1e';

/** The payload of a POST with the same packet many times. */
export const many = (count, packet) => Array(count).fill(packet).join(SEPARATOR);

/** How long an attacker rests before it comes back after it was cut off, in ms. */
const REST_MS = 20;
/** How long it waits for an answer before it looks at the time again, in ms. */
const PATIENCE_MS = 2000;
/** An attacker that holds connections answers pings, and otherwise waits. */
const PONG_MS = 5000;

/**
 * What attacks are made of. Everything that an attack sends passes `send`, which keeps it within its rate and its time
 * and counts it.
 */
export class Attacker {
  bytes = 0;
  /** How often the server cut it off or did not let it in. */
  refused = 0;
  #end = Number.POSITIVE_INFINITY;
  #pace;

  /**
   * @param {object} settings
   * @param {number} settings.port
   * @param {number} settings.target the worker that is attacked
   * @param {number} settings.other another one
   * @param {string} settings.address where the attacker comes from
   * @param {object} settings.auth what it logs in with
   * @param {number} settings.seconds
   * @param {number} settings.rate bytes per second
   */
  constructor(settings) {
    Object.assign(this, settings);
    this.dial = new Dial(settings.port, settings.address);
  }

  begin() {
    this.#pace = new Pace(this.rate, () => performance.now());
    this.#end = performance.now() + this.seconds * 1000;
  }

  get left() {
    return this.#end - performance.now();
  }

  get isOver() {
    return this.left <= 0;
  }

  /** Sends within rate and time. @returns {Promise<boolean>} false once there is no more to be sent on the connection */
  async send(connection, bytes) {
    const wait = this.#pace.take(bytes.length);
    if (wait > 0) await sleep(Math.min(wait, Math.max(0, this.left)));
    if (this.isOver || connection.isClosed) return false;
    this.bytes += bytes.length;
    return connection.send(bytes, this.left);
  }

  /** Sends the same bytes again and again until the connection or the time ends. */
  async flood(connection, bytes) {
    while (await this.send(connection, bytes));
  }

  /** Does `step` again and again until the time is over: an attacker that was cut off comes back. */
  async again(step) {
    while (!this.isOver) {
      try {
        await step();
      } catch {
        this.refused++;
      }
      if (!this.isOver) await sleep(REST_MS);
    }
  }

  /** Opens with `open`, then floods; and comes back when it is cut off. */
  floodOn(open, bytes) {
    return this.again(async () => {
      const connection = await open();
      await this.flood(connection, bytes);
      if (!this.isOver) this.refused++;
      connection.end();
    });
  }

  /** Sends `count` requests at a time on each connection, once those before were answered; opens it again when it ends. */
  asks(head, { connections = 1, count = 1 } = {}) {
    const bytes = filled(head, head.length * count);
    const ask = async () => {
      const connection = await this.http();
      while (await this.send(connection, bytes)) {
        for (let answers = 0; answers < count; answers++) {
          if (!(await connection.response(Math.max(1, this.left)))) return connection.end();
        }
      }
      connection.end();
    };
    return Promise.all(Array.from({ length: connections }, () => this.again(ask)));
  }

  /**
   * Opens connections one after the other, sends `parts` on each, and stays on all of them.
   * @param {Buffer} [pong] what it sends on each now and then, as the answer to pings
   */
  async hold(open, parts, pong) {
    const connections = new Set();
    const pongs = setInterval(() => {
      for (const connection of connections) if (pong) connection.write(pong);
    }, PONG_MS);
    try {
      await this.again(async () => {
        const connection = await open(this);
        connections.add(connection);
        for (const part of parts) if (!(await this.send(connection, part))) break;
        for (const one of connections) {
          if (!one.isClosed) continue;
          this.refused++;
          connections.delete(one);
        }
      });
    } finally {
      clearInterval(pongs);
      for (const connection of connections) connection.end();
    }
  }

  /** A WebSocket in the main namespace that throws away what comes. */
  async socket({ worker = this.target, auth = this.auth, ...options } = {}) {
    return (await this.dial.socket(worker, { auth, patience: PATIENCE_MS, ...options })).discard();
  }

  /** A WebSocket of the engine that has not joined a namespace. */
  socketBefore(options) {
    return this.socket({ ...options, auth: null });
  }

  async plain(path) {
    return (await this.dial.plain(this.target, path)).discard();
  }

  http() {
    return this.dial.http(this.target, { patience: PATIENCE_MS });
  }

  /** A session on polling in the main namespace; its connection is at `worker`. */
  async polling({ worker = this.target, auth = this.auth } = {}) {
    const session = await this.dial.polling(worker, { patience: PATIENCE_MS });
    if (auth) {
      for (const bytes of [
        request('POST', session.path, {}, `40${JSON.stringify(auth)}`),
        request('GET', session.path),
      ]) {
        session.connection.write(bytes);
        await session.connection.response(PATIENCE_MS);
      }
    }
    return session;
  }

  /** Sends a body in one POST after the other, each once the one before was answered, until the session ends. */
  async posts({ connection, path }, body, session = {}) {
    const bytes = request('POST', path, {}, body);
    while (!session.isOver && (await this.send(connection, bytes))) {
      const response = await connection.response(Math.max(1, this.left));
      if (response?.status !== 200) return;
    }
  }

  /** Opens sessions on polling, sends `body` in POSTs, and polls unless told otherwise; comes back when it is cut off. */
  postOn(open, body, { isPolling = true } = {}) {
    return this.again(async () => {
      const session = await open();
      const polling = isPolling ? this.#poll(session) : undefined;
      try {
        await this.posts(session, body, session);
        if (!this.isOver) this.refused++;
      } finally {
        session.isOver = true;
        session.connection.end();
        session.polls?.end();
        await polling;
      }
    });
  }

  /** Polls as a client does: a session that was closed says so to those who poll alone. */
  async #poll(session) {
    const poll = request('GET', session.path);
    try {
      session.polls = await this.http();
      while (!this.isOver && !session.isOver) {
        session.polls.write(poll);
        const response = await session.polls.response(Math.max(1, this.left));
        if (response?.status !== 200 || isEnd(response.body)) session.isOver = true;
      }
    } catch {
      session.isOver = true;
    }
  }
}

/** Whether the last packet of a payload is a close packet. */
const isEnd = (payload) => payload === '1' || payload.endsWith(`${SEPARATOR}1`);

/** As many copies of a packet as fill about `size` bytes. */
export function filled(packet, size = 65_536) {
  return Buffer.concat(Array.from({ length: Math.ceil(size / packet.length) }, () => packet));
}
