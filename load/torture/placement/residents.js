import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';

const WAYS = [['polling', 'websocket'], ['websocket'], ['polling']];
const AT_ONCE = 50;

/** Clients in rooms that they name as they connect. Each notes the numbers of its room, and the worker that it is on. */
export class Residents {
  repeated = 0;
  reconnects = 0;
  recovered = 0;
  /** New sessions of clients whose machine was killed: no other machine has copies of theirs. */
  lostWithMachine = 0;
  #clients = [];
  #url;

  constructor(url) {
    this.#url = url;
  }

  get size() {
    return this.#clients.length;
  }

  get connected() {
    return this.#clients.filter(({ socket }) => socket.connected && socket.recovered !== undefined).length;
  }

  /** Adds clients to the rooms in turn. */
  async add(count, rooms) {
    for (let index = 0; index < count; index++) {
      // Each room has clients of all kinds.
      this.#add(rooms[index % rooms.length], WAYS[Math.floor(this.size / rooms.length) % WAYS.length]);
      if (index % AT_ONCE === AT_ONCE - 1) await this.untilConnected(60_000);
    }
    if (!(await this.untilConnected(60_000))) throw new Error('not all clients connect');
  }

  /** Adds a client to each of these rooms, and does not wait until it is connected. */
  visit(rooms) {
    for (const room of rooms) this.#add(room, WAYS[this.size % WAYS.length]);
  }

  #add(room, transports) {
    const socket = io(this.#url, { query: { room }, transports, forceNew: true, reconnectionDelayMax: 2000 });
    const client = { room, socket, heard: new Set(), isNew: true, from: undefined, home: undefined, isOrphan: false };
    let hasConnected = false;
    socket.on('connect', () => {
      if (hasConnected) this.reconnects++;
      if (hasConnected && socket.recovered) this.recovered++;
      if (client.isOrphan && !socket.recovered) this.lostWithMachine++;
      client.isOrphan = false;
      // What was sent before a new session is not for it.
      if (!socket.recovered) Object.assign(client, { isNew: true, from: undefined });
      hasConnected = true;
    });
    socket.on('home', (pid) => {
      client.home = pid;
    });
    socket.on('number', (number) => {
      if (client.heard.has(number)) this.repeated++;
      client.heard.add(number);
      if (!client.isNew) return;
      client.isNew = false;
      client.from = number;
    });
    this.#clients.push(client);
  }

  /** Resolves when all clients are connected; false if that takes longer than the given time, in ms. */
  async untilConnected(timeout) {
    const end = performance.now() + timeout;
    while (this.connected < this.size && performance.now() < end) await sleep(50);
    return this.connected === this.size;
  }

  /** Call it before these processes are killed. */
  orphan(pids) {
    for (const client of this.#clients) if (pids.includes(client.home)) client.isOrphan = true;
  }

  /** The share of clients on the worker that the proxy sends their room to now. */
  async inPlace() {
    const rooms = [...new Set(this.#clients.map(({ room }) => room))];
    const homes = new Map();
    for (const room of rooms) homes.set(room, await this.homeOf(room));
    return (
      this.#clients.filter(({ room, home, socket }) => socket.connected && home === homes.get(room)).length / this.size
    );
  }

  async homeOf(room) {
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
    const lacking = ({ room, heard, from = Number.POSITIVE_INFINITY }) =>
      (said.get(room) ?? []).filter((number) => number >= from && !heard.has(number)).length;
    return this.#clients.reduce((sum, client) => sum + lacking(client), 0);
  }

  get deliveries() {
    return this.#clients.reduce((sum, { heard }) => sum + heard.size, 0);
  }

  close() {
    for (const { socket } of this.#clients) socket.disconnect();
  }
}

/** Sends numbers to the rooms in turn, through the proxy. */
export class Speaker {
  /** The numbers by room that the application has confirmed. */
  said = new Map();
  #isOn = true;
  #loop;

  constructor(url, rooms, everyMs) {
    this.#loop = this.#run(url, rooms, everyMs);
  }

  async #run(url, rooms, everyMs) {
    for (let number = 1; this.#isOn; number++) {
      const room = rooms[number % rooms.length];
      const options = { headers: { connection: 'close' }, signal: AbortSignal.timeout(10_000) };
      const response = await fetch(`${url}/say?room=${room}&number=${number}`, options).catch(() => {});
      if (response?.ok) this.said.set(room, [...(this.said.get(room) ?? []), number]);
      await sleep(everyMs);
    }
  }

  async stop() {
    this.#isOn = false;
    await this.#loop;
  }
}
