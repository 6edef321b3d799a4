import { setTimeout as sleep } from 'node:timers/promises';
import { soon } from '../../harness/until.js';
import { Crowd } from './crowd.js';

/** How long a message may take to reach all clients before it counts as lost, in ms. */
const MAX_DELAY_MS = 10_000;

/**
 * Clients with their default options in one room. Each of them sends numbered messages, and checks what it hears: between
 * two clients that keep their connections, every message must arrive once and in order.
 */
export class Talkers extends Crowd {
  lost = 0;
  repeated = 0;
  heard = 0;
  sent = 0;
  #isTalking = true;
  #loops;

  constructor(url, size, perSecond) {
    super();
    for (let index = 0; index < size; index++) {
      const talker = this.add(url, {}, { number: 0, expected: new Map() });
      talker.socket.on('said', (from, number) => this.#hear(talker, from, number));
    }
    this.#loops = this.clients.map((talker) => this.#talk(talker, size / perSecond));
  }

  onConnect(talker) {
    Object.assign(talker, { number: 0, expected: new Map() });
  }

  #hear({ expected }, from, number) {
    const next = expected.get(from) ?? number;
    this.heard++;
    if (number > next) this.lost += number - next;
    if (number < next) this.repeated++;
    else expected.set(from, number + 1);
  }

  async #talk(talker, interval) {
    while (this.#isTalking) {
      await sleep(1000 * interval * (0.5 + Math.random()));
      if (!talker.socket.connected || !this.#isTalking) continue;
      this.sent++;
      talker.socket.emit('say', talker.number++);
    }
  }

  /** Stops talking, and counts the last messages of each client that the others have not heard as lost. */
  async finish() {
    this.#isTalking = false;
    await Promise.all(this.#loops);
    await soon(() => this.#missing() === 0, MAX_DELAY_MS);
    this.lost += this.#missing();
    this.close();
  }

  #missing() {
    return this.sum(({ expected }) => this.sum(({ socket, number }) => number - (expected.get(socket.id) ?? number)));
  }
}
