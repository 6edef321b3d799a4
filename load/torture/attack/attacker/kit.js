import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, frame, opcodes, request, upgradeRequest } from '../../../harness/connection.js';

export const ENGINE = '/socket.io/?EIO=4';
export const POLLING = `${ENGINE}&transport=polling`;
export const WEBSOCKET = `${ENGINE}&transport=websocket`;
/** Stands between the packets of a payload. */
export const SEPARATOR = '\x1e';

export const text = (packet) => frame(packet);
export const binary = (bytes) => frame(bytes, { opcode: opcodes.binary });
/** The payload of a POST with the same packet many times. */
export const many = (count, packet) => Array(count).fill(packet).join(SEPARATOR);

/** How often the kernel may pick another worker than the one that is wanted. */
const MAX_TRIES = 24;
/** How long an attacker rests before it comes back after it was cut off, in ms. */
const REST_MS = 20;
/** How long it waits for each answer on the way in, in ms. */
const PATIENCE_MS = 2000;
/** An attacker that holds connections answers pings, and otherwise waits. */
const PONG_MS = 5000;

/** A sender that fell further behind than this, in ms, does not catch up: a burst would be another attack. */
const MAX_BEHIND_MS = 250;

/** The server does not let the client in. */
export class Refused extends Error {}

/**
 * What attacks are made of. Everything that an attack sends passes `send`, which keeps it within its rate and its time
 * and counts it.
 *
 * Its connections are to one worker. The kernel picks a worker for each connection, and a session's id begins with the number
 * of its worker: a handshake tells where the connection ended up.
 *
 * A `way` is how a connection is opened: its `worker` (the one that is attacked), `address` where it comes from, what it logs in with
 * (`auth`; null does not join the main namespace), and its `patience` for each answer in ms.
 */
export class Attacker {
  bytes = 0;
  /** How many connections were opened. */
  opened = 0;
  #end = Number.POSITIVE_INFINITY;
  /** When the next byte may be sent, in ms; undefined while the attack is prepared. */
  #next;

  /** @param {object} settings `port`, `target` (the worker that is attacked), `other`, `address`, `auth`, `seconds`, `rate` in bytes per second */
  constructor(settings) {
    Object.assign(this, settings);
  }

  begin() {
    this.#next = performance.now();
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
    const now = performance.now();
    this.#next = Math.max(this.#next ?? now, now - MAX_BEHIND_MS);
    const wait = this.#next - now;
    this.#next += (bytes.length / this.rate) * 1000;
    if (wait > 0) await sleep(Math.min(wait, Math.max(0, this.left)));
    if (this.isOver || connection.isClosed) return false;
    this.bytes += bytes.length;
    return connection.send(bytes, this.left);
  }

  /** The response to what was sent, if it comes before the time is over. */
  answer(connection) {
    return connection.response(Math.max(1, this.left));
  }

  /** Sends the same bytes again and again until the connection or the time ends. */
  async flood(connection, bytes) {
    while (await this.send(connection, bytes));
  }

  /** Does `step` again and again until the time is over: an attacker that was cut off comes back. */
  async again(step) {
    while (!this.isOver) {
      await step().catch(() => {});
      if (!this.isOver) await sleep(REST_MS);
    }
  }

  /** The same, so many at once. @param {(index: number) => Promise<unknown>} step */
  atOnce(count, step) {
    return Promise.all(Array.from({ length: count }, (_, index) => this.again(() => step(index))));
  }

  /** Opens with `open`, then floods; and comes back when it is cut off. */
  floodOn(open, bytes, connections = 1) {
    return this.atOnce(connections, async () => {
      const connection = await open(this);
      await this.flood(connection, bytes);
      connection.end();
    });
  }

  /** Sends `count` requests at a time on each connection, once those before were answered; opens it again when it ends. */
  asks(head, { connections = 1, count = 1 } = {}) {
    const bytes = filled(head, head.length * count);
    return this.atOnce(connections, async () => {
      const connection = await this.http();
      while (await this.send(connection, bytes)) {
        for (let answers = 0; answers < count; answers++) {
          if (!(await this.answer(connection))) return connection.end();
        }
      }
      connection.end();
    });
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
        for (const one of connections) if (one.isClosed) connections.delete(one);
      });
    } finally {
      clearInterval(pongs);
      for (const connection of connections) connection.end();
    }
  }

  /** Opens sessions on polling, sends `body` in POSTs, and polls unless told otherwise; comes back when it is cut off. */
  postOn(open, body, { isPolling = true } = {}) {
    return this.again(async () => {
      const session = await open(this);
      const bytes = request('POST', session.path, {}, body);
      const polling = isPolling ? this.#poll(session) : undefined;
      try {
        while (!session.isOver && (await this.send(session.connection, bytes))) {
          if ((await this.answer(session.connection))?.status !== 200) break;
        }
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
        const response = await this.answer(session.polls.write(poll));
        if (response?.status !== 200 || isEnd(response.body)) session.isOver = true;
      }
    } catch {
      session.isOver = true;
    }
  }

  /** A connection to any worker. */
  open(address = this.address) {
    this.opened++;
    return new Connection(this.port, address);
  }

  get #patience() {
    return this.#next === undefined ? undefined : PATIENCE_MS;
  }

  /** A session on polling whose connection is at the worker, or at any where that one is no more. */
  async polling({ worker = this.target, address, auth = this.auth, patience = this.#patience } = {}) {
    for (let tries = 1; ; tries++) {
      const connection = this.open(address);
      const response = await connection.write(request('GET', POLLING)).response(patience);
      if (response?.status !== 200) {
        connection.end();
        throw new Refused(`no session: ${response?.status} ${response?.body}`);
      }
      const { sid } = JSON.parse(response.body.slice(1));
      const session = { connection, sid, path: `${POLLING}&sid=${sid}` };
      const ask = (...packet) => connection.write(request(...packet)).response(patience);
      if (Number.parseInt(sid, 10) !== worker && tries < MAX_TRIES) {
        await ask('POST', session.path, {}, '1');
        connection.end();
        continue;
      }
      if (auth) {
        await ask('POST', session.path, {}, `40${JSON.stringify(auth)}`);
        await ask('GET', session.path);
      }
      return session;
    }
  }

  /** A connection for HTTP at the worker. */
  async http(way) {
    const { connection, path } = await this.polling({ ...way, auth: null });
    await connection.write(request('POST', path, {}, '1')).response();
    return connection;
  }

  async #upgrade(path, way) {
    const connection = await this.http(way);
    const response = await connection.write(upgradeRequest(path)).response();
    if (response?.status === 101) return connection;
    connection.end();
    throw new Refused(`no WebSocket: ${response?.status} ${response?.body}`);
  }

  /** A WebSocket that throws away what comes. */
  async plain(path, way) {
    return (await this.#upgrade(path, way)).discard();
  }

  /** One of the engine. `hears`: what comes waits to be read */
  async socket({ auth = this.auth, hears = false, ...way } = {}) {
    const connection = await this.#upgrade(WEBSOCKET, way);
    const { patience = this.#patience } = way;
    await connection.frame(patience);
    if (auth) {
      const answer = await connection.write(text(`40${JSON.stringify(auth)}`)).frame(patience);
      if (!answer?.payload.toString().startsWith('40')) {
        connection.end();
        throw new Refused(`not let in: ${answer?.payload}`);
      }
    }
    return hears ? connection : connection.discard();
  }
}

/** Whether the last packet of a payload is a close packet. */
const isEnd = (payload) => payload === '1' || payload.endsWith(`${SEPARATOR}1`);

/** As many copies of a packet as fill about `size` bytes. */
export function filled(packet, size = 65_536) {
  return Buffer.concat(Array.from({ length: Math.ceil(size / packet.length) }, () => packet));
}
