import { io } from 'socket.io-client';
import { soon } from '../../harness/until.js';

/**
 * Clients of socket.io that return after each disconnection, and remember what they hear. The crowd counts what they lost, what
 * came twice or out of order, and how they returned.
 *
 * @typedef {object} Heard
 * @property {number | string} key what was heard: nothing else in its stream has this key
 * @property {string | number} [lane] who sent it, where keys of one sender have an order
 */
export class Crowd {
  /** Each has its `socket`, what it has `heard` by stream, and the `ids` of its sessions. */
  clients = [];
  /** Returns of clients, each with its times in ms, and with what was being done when its connection ended. */
  returns = [];
  /** How often a client was connected again without having been away: a reload has moved it. */
  moves = 0;
  /** What is being done to the server, and since when. */
  #fault = 'none';
  #begunAt = 0;
  /** The messages of failed attempts to connect. */
  errors = [];

  /**
   * Adds a client.
   * @param {string} url
   * @param {object} [options] of socket.io-client
   * @param {object} [state] what else the client has
   */
  add(url, options, state) {
    const socket = io(url, { forceNew: true, ...options });
    const client = { heard: new Map(), ids: new Set(), gaps: [], ...state, socket, away: undefined };
    const now = () => performance.now();
    // Also when the server ends a connection before the namespace has answered.
    socket.io.on('close', (reason) => {
      client.away ??= { since: now(), fault: this.#fault, reason };
    });
    socket.io.on('reconnect_attempt', () => {
      if (client.away) client.away.firstAttempt ??= now();
    });
    socket.on('connect', () => {
      const { away } = client;
      client.away = undefined;
      if (!away && client.ids.size > 0) this.moves++;
      if (away && client.ids.size > 0) {
        client.hasReturned = true;
        this.returns.push({
          fault: away.fault,
          reason: away.reason,
          isSame: socket.recovered,
          outage: now() - away.since,
          firstDelay: away.firstAttempt - away.since,
          total: now() - this.#begunAt,
        });
        // What was sent meanwhile is missed, not lost: up to what it hears first.
        if (!socket.recovered) client.gaps.push({ after: client.last ?? 0, before: undefined });
      }
      client.ids.add(socket.id);
    });
    socket.on('connect_error', ({ message }) => this.errors.push(message));
    this.clients.push(client);
    return client;
  }

  /** A client hears something. @param {string} stream @param {Heard} entry */
  hear(client, stream, entry) {
    if (!client.heard.has(stream)) client.heard.set(stream, []);
    client.heard.get(stream).push(entry);
    if (typeof entry.key !== 'number') return;
    client.first ??= entry.key;
    client.last = Math.max(client.last ?? 0, entry.key);
    const gap = client.gaps.at(-1);
    if (gap) gap.before ??= entry.key;
  }

  get disconnected() {
    return this.clients.filter(({ socket }) => !socket.connected).length;
  }

  get deliveries() {
    return this.#sumOfStreams((heard) => heard.length);
  }

  get repeated() {
    return this.#sumOfStreams((heard) => heard.length - new Set(heard.map(({ key }) => key)).size);
  }

  /** What came after something later of the same lane. @param {(entry: Heard) => [lane: unknown, place: number][]} placesOf */
  outOfOrder(placesOf = ({ key, lane }) => [[lane, key]]) {
    return this.#sumOfStreams((heard) => {
      const last = new Map();
      let wrong = 0;
      for (const entry of heard) {
        for (const [lane, place] of placesOf(entry)) {
          if (place < last.get(lane)) wrong++;
          last.set(lane, place);
        }
      }
      return wrong;
    });
  }

  /** What clients have not heard that they should have. @param {(client: object, stream: string) => Iterable<number | string>} expected */
  lacking(expected) {
    return this.#sumOfStreams((heard, client, stream) => {
      const keys = new Set(heard.map(({ key }) => key));
      return [...expected(client, stream)].filter((key) => !keys.has(key)).length;
    });
  }

  /** Whether a client had no session when this number was sent. Those before the first that it heard are not its own either. */
  static isAbsent({ first = Number.POSITIVE_INFINITY, gaps }, number) {
    return (
      number < first || gaps.some(({ after, before = Number.POSITIVE_INFINITY }) => after < number && number < before)
    );
  }

  sum(numberOf) {
    return this.clients.reduce((sum, client) => sum + numberOf(client), 0);
  }

  #sumOfStreams(numberOf) {
    return this.sum((client) =>
      [...client.heard].reduce((sum, [stream, heard]) => sum + numberOf(heard, client, stream), 0),
    );
  }

  /** Something is done to the server: `total` of a return begins here. */
  begin(fault) {
    this.#fault = fault;
    this.#begunAt = performance.now();
  }

  /** Resolves when all clients are connected; false if that takes longer than the given time, in ms. */
  untilConnected(timeout) {
    return soon(() => this.disconnected === 0, timeout);
  }

  close() {
    for (const { socket } of this.clients) socket.disconnect();
  }
}
