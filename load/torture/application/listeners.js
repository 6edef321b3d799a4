import { Crowd } from '../support/crowd.js';
import { MAX_RECOVERY_MS } from './faults.js';

/** How many clients connect at a time. */
const AT_ONCE = 100;
/** Clients of the application: of so many, each way to connect has its share. */
export class Listeners extends Crowd {
  /** One entry for each number and worker, which all clients share: thousands of them hear the same. */
  #entries = new Map();

  /** Adds clients that connect with these transports in turn, some at a time. */
  async open(url, count, ways, options = {}) {
    for (let index = 0; index < count; index++) {
      const heard = new Map(['room', 'own'].map((stream) => [stream, []]));
      const client = this.add(url, { transports: ways[index % ways.length], ...options }, { heard });
      client.socket.on('number', (key, worker) => this.hear(client, 'room', this.#entryOf(key, worker)));
      client.socket.on('own', (key, worker) => this.hear(client, 'own', this.#entryOf(key, worker)));
      if (index % AT_ONCE === AT_ONCE - 1) await this.untilConnected(MAX_RECOVERY_MS);
    }
    if (!(await this.untilConnected(MAX_RECOVERY_MS))) throw new Error('not all clients connect');
  }

  #entryOf(key, lane) {
    const name = `${key} ${lane}`;
    if (!this.#entries.has(name)) this.#entries.set(name, { key, lane });
    return this.#entries.get(name);
  }

  /** What confirmed numbers clients lack, of those that were sent while they had a session. @param {Map<number, string[]>} confirmed */
  lost(confirmed) {
    return this.lacking((client, stream) =>
      expected(client, stream, confirmed).filter((n) => !Crowd.isAbsent(client, n)),
    );
  }

  /** The same of those sent while they had none. */
  missed(confirmed) {
    return this.lacking((client, stream) =>
      expected(client, stream, confirmed).filter((n) => n >= client.first && Crowd.isAbsent(client, n)),
    );
  }
}

function expected({ ids }, stream, confirmed) {
  if (stream === 'room') return [...confirmed.keys()];
  return [...confirmed].flatMap(([number, sockets]) => (sockets.some((id) => ids.has(id)) ? [number] : []));
}
