import { io } from 'socket.io-client';
import { Waits } from './waits.js';

const ECHO_MS = 50;
const MESSAGE_MS = 200;
/** How often the kernel may pick another worker than the one that is wanted. */
const MAX_TRIES = 24;

/** Somebody who chats while an attack is on: one WebSocket that asks at fixed times, whatever the server does. */
export class Probe {
  /** Round trips of `echo`. */
  echoes = new Waits();
  /** Acknowledgements of `message`. */
  posts = new Waits();
  isLost = false;
  #socket;
  #nextId = 0;
  #timers;

  /** Resolves with one that is connected to the worker. */
  static async open({ port, address, worker, auth }) {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const options = { transports: ['websocket'], reconnection: false, forceNew: true };
      const socket = io(`http://127.0.0.1:${port}`, { ...options, localAddress: address, auth });
      await new Promise((resolve, reject) => socket.once('connect', resolve).once('connect_error', reject));
      // The id of a session begins with the number of its worker.
      if (Number.parseInt(socket.io.engine.id, 10) === worker) return new Probe(socket, `probe ${worker}`);
      socket.disconnect();
    }
    throw new Error(`no probe reaches worker ${worker}`);
  }

  constructor(socket, room) {
    this.#socket = socket;
    socket.on('disconnect', () => {
      this.isLost = true;
      for (const waits of [this.echoes, this.posts]) waits.abandon(performance.now());
    });
    socket.emit('join', room);
    this.#timers = [
      setInterval(() => this.#ask(this.echoes, 'echo', 1), ECHO_MS),
      setInterval(() => this.#ask(this.posts, 'message', { room, text: 'still there?' }), MESSAGE_MS),
    ];
  }

  reset() {
    this.echoes.reset();
    this.posts.reset();
  }

  /** Asks no more. */
  stopAsking() {
    for (const timer of this.#timers) clearInterval(timer);
  }

  leave() {
    this.stopAsking();
    this.#socket.disconnect();
  }

  get isSettled() {
    return this.echoes.isSettled && this.posts.isSettled;
  }

  #ask(waits, event, input) {
    if (this.isLost) return;
    const id = this.#nextId++;
    waits.sent(id, performance.now());
    this.#socket.emit(event, input, () => waits.answer(id, performance.now()));
  }
}
