import { io } from 'socket.io-client';

const ECHO_MS = 50;
const MESSAGE_MS = 200;
/** How often the kernel may pick another worker than the one that is wanted. */
const MAX_TRIES = 24;

/** Somebody who chats while an attack is on: one WebSocket that asks at fixed times, whatever the server does. */
export class Probe {
  /** Of `echo`, and of `message`: the longest wait for an answer, and when each request was sent that has none yet. */
  echoes = { answered: 0, longest: 0, pending: new Map() };
  posts = { answered: 0, longest: 0, pending: new Map() };
  isLost = false;
  #nextId = 0;

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
    this.socket = socket;
    socket.on('disconnect', () => {
      this.isLost = true;
      for (const waits of [this.echoes, this.posts]) {
        waits.longest = longest(waits);
        waits.pending.clear();
      }
    });
    socket.emit('join', room);
    this.timers = [
      setInterval(() => this.#ask(this.echoes, 'echo', 1), ECHO_MS),
      setInterval(() => this.#ask(this.posts, 'message', { room, text: 'still there?' }), MESSAGE_MS),
    ];
  }

  /** Forgets what was answered before the attack. */
  reset() {
    for (const waits of [this.echoes, this.posts]) Object.assign(waits, { answered: 0, longest: 0 });
  }

  stopAsking() {
    for (const timer of this.timers) clearInterval(timer);
  }

  leave() {
    this.stopAsking();
    this.socket.disconnect();
  }

  get isSettled() {
    return this.echoes.pending.size + this.posts.pending.size === 0;
  }

  #ask(waits, event, input) {
    if (this.isLost) return;
    const id = this.#nextId++;
    waits.pending.set(id, performance.now());
    this.socket.emit(event, input, () => {
      waits.longest = Math.max(waits.longest, performance.now() - waits.pending.get(id));
      waits.pending.delete(id);
      waits.answered++;
    });
  }
}

/** In ms. A request without an answer counts for as long as it has waited: a worker that never answers must not look fast. */
export function longest({ longest: answered, pending }) {
  const now = performance.now();
  const [oldest = now] = pending.values();
  return Math.round(Math.max(answered, now - oldest));
}
