import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';

/** Of ten clients, so many use each way to connect. */
const WAYS = [
  { share: 5, transports: ['polling', 'websocket'] },
  { share: 4, transports: ['websocket'] },
  { share: 1, transports: ['polling'] },
];
/** How many clients connect at a time at the start. */
const AT_ONCE = 100;

/** Clients that hear numbered events. Each one notes what it lacks, and how long it heard nothing. */
export class Audience {
  reconnects = 0;
  /** Reconnects after which the client had its session again. */
  recovered = 0;
  errors = new Map();
  deliveries = 0;
  repeated = 0;
  /** How often each number was missed, by clients that stayed connected or were recovered, and by the others. */
  lost = new Map();
  missed = new Map();
  longestOutageMs = 0;
  longestSilenceMs = 0;
  #clients = [];

  static async open(url, size) {
    const audience = new Audience();
    const ways = WAYS.flatMap(({ share, transports }) => Array(share).fill(transports));
    for (let index = 0; index < size; index++) {
      audience.#open(url, ways[index % ways.length]);
      if (index % AT_ONCE === AT_ONCE - 1) await audience.untilConnected(60_000);
    }
    return audience;
  }

  get size() {
    return this.#clients.length;
  }

  get disconnected() {
    return this.#clients.filter(({ socket }) => !socket.connected).length;
  }

  #open(url, transports) {
    const socket = io(url, { forceNew: true, transports });
    const client = { socket, last: undefined, isNew: false, since: undefined, heardAt: undefined };
    socket.on('connect', () => {
      if (client.since === undefined) return;
      this.reconnects++;
      if (socket.recovered) this.recovered++;
      else client.isNew = true;
      this.longestOutageMs = Math.max(this.longestOutageMs, performance.now() - client.since);
      client.since = undefined;
    });
    socket.on('disconnect', () => {
      client.since ??= performance.now();
    });
    socket.on('connect_error', ({ message }) => this.errors.set(message, (this.errors.get(message) ?? 0) + 1));
    socket.on('number', (number) => this.#hear(client, number));
    this.#clients.push(client);
  }

  #hear(client, number) {
    this.deliveries++;
    const now = performance.now();
    if (client.heardAt !== undefined) this.longestSilenceMs = Math.max(this.longestSilenceMs, now - client.heardAt);
    client.heardAt = now;
    const { last = number - 1 } = client;
    if (number <= last) {
      this.repeated++;
      return;
    }
    const counts = client.isNew ? this.missed : this.lost;
    for (let one = last + 1; one < number; one++) counts.set(one, (counts.get(one) ?? 0) + 1);
    client.last = number;
    client.isNew = false;
  }

  /** Resolves when all clients are connected; false if that takes longer than the given time, in ms. */
  async untilConnected(timeout) {
    const end = performance.now() + timeout;
    while (this.disconnected > 0 && performance.now() < end) await sleep(50);
    return this.disconnected === 0;
  }

  /** Waits until all connected clients have heard a number, for 10 s at most. What they lack then is lost. */
  async finish(number) {
    const lacking = () => this.#clients.filter(({ socket, last = 0 }) => socket.connected && last < number);
    for (const end = performance.now() + 10_000; lacking().length > 0 && performance.now() < end; ) await sleep(50);
    for (const { last = 0 } of lacking()) {
      for (let one = last + 1; one <= number; one++) this.lost.set(one, (this.lost.get(one) ?? 0) + 1);
    }
    for (const { socket } of this.#clients) socket.disconnect();
  }
}

/** Sends numbers to the application, one after the other, each on a connection of its own. */
export class Publisher {
  number = 0;
  /** Numbers without an answer: the application may have sent them or not. */
  uncertain = new Set();
  #isOn = true;
  #loop;

  constructor(url, intervalMs) {
    this.#loop = this.#run(url, intervalMs);
  }

  async #run(url, intervalMs) {
    while (this.#isOn) {
      await this.#send(url);
      await sleep(intervalMs);
    }
    // The last number must arrive.
    for (let tries = 0; tries < 20 && !(await this.#send(url)); tries++) await sleep(100);
  }

  async #send(url) {
    const number = ++this.number;
    const isAnswered = await new Promise((resolve) => {
      request(`${url}/?number=${number}`, { agent: false, timeout: 10_000 }, (response) => {
        response.on('end', () => resolve(response.statusCode === 200)).on('error', () => resolve(false));
        response.resume();
      })
        .on('error', () => resolve(false))
        .on('timeout', () => resolve(false))
        .end();
    });
    if (!isAnswered) this.uncertain.add(number);
    return isAnswered;
  }

  /** Resolves when the last number is sent. */
  async stop() {
    this.#isOn = false;
    await this.#loop;
  }

  /** The sum of counts by number, without the numbers that may not have been sent. */
  sumOf(counts) {
    let sum = 0;
    for (const [number, count] of counts) if (!this.uncertain.has(number)) sum += count;
    return sum;
  }
}
