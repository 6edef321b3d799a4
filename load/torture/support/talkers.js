import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';

/** How long a message may take to reach all clients before it counts as lost, in ms. */
const MAX_DELAY_MS = 10_000;

/**
 * Clients with their default options in one room. Each of them sends numbered messages, and checks what it hears: between
 * two clients that keep their connections, every message must arrive once and in order.
 */
export class Talkers {
  lost = 0;
  repeated = 0;
  heard = 0;
  sent = 0;
  errors = new Map();
  /** How long each client was without a connection, in ms. */
  outages = [];
  #isOpen = true;
  #talkers;
  #loops;

  constructor(url, size, perSecond) {
    this.#talkers = Array.from({ length: size }, () => this.#open(url));
    this.#loops = this.#talkers.map((talker) => this.#talk(talker, size / perSecond));
  }

  get size() {
    return this.#talkers.length;
  }

  get disconnected() {
    return this.#talkers.filter(({ socket }) => !socket.connected).length;
  }

  #open(url) {
    const socket = io(url, { forceNew: true });
    const talker = { socket, number: 0, since: undefined, expected: new Map() };
    socket.on('connect', () => {
      if (talker.since !== undefined) this.outages.push(performance.now() - talker.since);
      Object.assign(talker, { number: 0, since: undefined, expected: new Map() });
    });
    socket.on('disconnect', () => {
      talker.since = performance.now();
    });
    socket.on('connect_error', ({ message }) => this.errors.set(message, (this.errors.get(message) ?? 0) + 1));
    socket.on('said', (from, number) => {
      const expected = talker.expected.get(from) ?? number;
      this.heard++;
      if (number > expected) this.lost += number - expected;
      if (number < expected) this.repeated++;
      else talker.expected.set(from, number + 1);
    });
    return talker;
  }

  async #talk(talker, interval) {
    while (this.#isOpen) {
      await sleep(1000 * interval * (0.5 + Math.random()));
      if (!talker.socket.connected || !this.#isOpen) continue;
      this.sent++;
      talker.socket.emit('say', talker.number++);
    }
  }

  /** Resolves when all clients are connected; false if that takes longer than the given time, in ms. */
  async untilConnected(timeout) {
    const end = performance.now() + timeout;
    while (this.disconnected > 0 && performance.now() < end) await sleep(20);
    return this.disconnected === 0;
  }

  /** Stops talking, and counts the last messages of each client that the others have not heard as lost. */
  async finish() {
    this.#isOpen = false;
    await Promise.all(this.#loops);
    const end = performance.now() + MAX_DELAY_MS;
    while (this.#missing() > 0 && performance.now() < end) await sleep(50);
    this.lost += this.#missing();
    for (const { socket } of this.#talkers) socket.disconnect();
  }

  #missing() {
    let missing = 0;
    for (const { expected } of this.#talkers) {
      for (const { socket, number } of this.#talkers) {
        const next = expected.get(socket.id);
        if (next !== undefined) missing += number - next;
      }
    }
    return missing;
  }
}
