import { Crowd } from '../support/crowd.js';

const WAYS = [['polling', 'websocket'], ['websocket'], ['polling']];

/** Clients in rooms that they name as they connect. Each notes the numbers of its room, and the worker that it is on. */
export class Residents extends Crowd {
  /** What was heard twice, as text. */
  repeats = [];
  /** New sessions of clients whose machine was killed: no other machine has copies of theirs. */
  lostWithMachine = 0;
  #url;

  constructor(url) {
    super();
    this.#url = url;
  }

  /** Adds clients to the rooms in turn. Each room has clients of all kinds. */
  settle(count, rooms) {
    return this.fill(count, (index) =>
      this.#enter(rooms[index % rooms.length], WAYS[Math.floor(this.size / rooms.length) % WAYS.length]),
    );
  }

  /** Adds a client to each of these rooms, and does not wait until it is connected. */
  visit(rooms) {
    for (const room of rooms) this.#enter(room, WAYS[this.size % WAYS.length]);
  }

  #enter(room, transports) {
    const options = { query: { room }, transports, reconnectionDelayMax: 2000 };
    const state = { room, heard: new Map(), from: undefined, home: undefined, isOrphan: false };
    const client = this.add(this.#url, options, state);
    client.socket.on('home', (pid) => {
      client.home = pid;
    });
    client.socket.on('number', (number) => {
      const here = placeOf(client);
      const before = client.heard.get(number);
      if (before) this.repeats.push(`${number} of ${room}: ${before}; ${here}`);
      else client.heard.set(number, here);
      client.from ??= number;
    });
  }

  onConnect(client) {
    const { isOrphan, socket } = client;
    client.isOrphan = false;
    if (socket.recovered) return;
    if (isOrphan) this.lostWithMachine++;
    // What was sent before a new session is not for it.
    client.from = undefined;
  }

  /** Call it before these processes are killed. */
  orphan(pids) {
    for (const client of this.clients) if (pids.includes(client.home)) client.isOrphan = true;
  }

  /** The share of clients on the worker that the proxy sends their room to now. */
  async inPlace() {
    const homes = new Map();
    for (const { room } of this.clients) if (!homes.has(room)) homes.set(room, await this.#homeOf(room));
    return this.sum(({ room, home, socket }) => (socket.connected && home === homes.get(room) ? 1 : 0)) / this.size;
  }

  async #homeOf(room) {
    const response = await fetch(`${this.#url}/home?room=${room}`, { headers: { connection: 'close' } }).catch(
      () => {},
    );
    return response?.ok ? Number(await response.text()) : undefined;
  }

  /**
   * The numbers that clients lack which were sent since their session began.
   * @param {Map<string, number[]>} said the numbers by room that the application has confirmed
   */
  lost(said) {
    return this.sum(
      ({ room, heard, from = Number.POSITIVE_INFINITY }) =>
        (said.get(room) ?? []).filter((number) => number >= from && !heard.has(number)).length,
    );
  }

  get deliveries() {
    return this.sum(({ heard }) => heard.size);
  }
}

/** Where and when a client has heard something. */
function placeOf({ socket, home }) {
  const kind = socket.recovered ? 'recovered' : 'new';
  return `${kind} session ${socket.id}, after worker ${home}, at ${Math.round(performance.now())} ms`;
}
