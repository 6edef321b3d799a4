import { Dial, text } from '../attacker/dial.js';
import { Waits } from './waits.js';

const ECHO_MS = 50;
const MESSAGE_MS = 200;

/** Somebody who chats while an attack is on: one WebSocket that asks at fixed times, whatever the server does. */
export class Probe {
  /** Round trips of `echo`. */
  echoes = new Waits();
  /** Acknowledgements of `message`. */
  posts = new Waits();
  isLost = false;
  #connection;
  #nextId = 0;
  #timers = [];

  static async open({ port, address, worker, auth }) {
    const probe = new Probe();
    probe.#connection = await new Dial(port, address).socket(worker, { auth });
    if (probe.#connection.worker !== worker) throw new Error(`the probe is not on worker ${worker}`);
    const room = `probe ${worker}`;
    probe.#connection.write(text(`42${JSON.stringify(['join', room])}`));
    probe.#read();
    const ask = (waits, ms, event, input) => probe.#timers.push(setInterval(() => probe.#ask(waits, event, input), ms));
    ask(probe.echoes, ECHO_MS, 'echo', 1);
    ask(probe.posts, MESSAGE_MS, 'message', { room, text: 'still there?' });
    return probe;
  }

  reset() {
    this.echoes.reset();
    this.posts.reset();
  }

  /** Asks no more. */
  stopAsking() {
    for (const timer of this.#timers) clearInterval(timer);
  }

  get isSettled() {
    return this.echoes.isSettled && this.posts.isSettled;
  }

  #ask(waits, event, input) {
    if (this.isLost) return;
    const id = this.#nextId++;
    waits.sent(id, performance.now());
    this.#connection.write(text(`42${id}${JSON.stringify([event, input])}`));
  }

  async #read() {
    for (;;) {
      const frame = await this.#connection.frame(2 ** 30);
      const at = performance.now();
      const packet = frame?.payload.toString();
      if (packet === undefined || frame.opcode === CLOSE) {
        this.isLost = true;
        this.echoes.abandon(at);
        this.posts.abandon(at);
        return;
      }
      if (packet === '2') this.#connection.write(text('3'));
      const [, answered] = /^43(\d+)\[/.exec(packet) ?? [];
      if (answered === undefined) continue;
      this.echoes.answer(Number(answered), at);
      this.posts.answer(Number(answered), at);
    }
  }
}

const CLOSE = 8;
