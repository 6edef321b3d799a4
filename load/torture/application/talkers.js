import { Histogram } from '../../generator/histogram.js';
import { pace, stopPacing } from '../../generator/pace.js';
import { Crowd } from '../support/crowd.js';
import { MAX_RECOVERY_MS } from './faults.js';

/** How many clients connect at a time. */
const AT_ONCE = 100;

/**
 * Clients of the application: of so many, each way to connect has its share. They say numbers, and get them back. What one waits
 * for a number is how long the server is silent to it, at least.
 */
export class Talkers extends Crowd {
  /** One entry for each number and worker, which all clients share: thousands of them hear the same. */
  #entries = new Map();
  /** By the transport with which a client connects. */
  waits = { websocket: new Histogram(), polling: new Histogram() };
  /** Numbers that came back although another one was due: some were lost, came twice, or came in another order. */
  outOfTurn = 0;

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

  /** Each client says so many numbers a second, the clients in turn. */
  talk(perSecond) {
    for (const client of this.clients) {
      Object.assign(client, { said: 0, back: 0, times: new Map(), awaited: 0, silence: undefined });
      // A client that moves is connected again. What it has said and not got back by then came into the time between.
      client.socket.on('connect', () => {
        client.awaited = client.said;
        client.silence ??= 0;
      });
      client.socket.on('said', (number) => this.#back(client, number));
    }
    let turn = 0;
    if (perSecond === 0) return;
    pace(perSecond * this.clients.length, () => {
      const client = this.clients[turn++ % this.clients.length];
      if (!client.socket.connected) return;
      client.times.set(++client.said, performance.now());
      client.socket.emit('say', client.said);
    });
  }

  #back(client, number) {
    // What was on its way when a connection ended may be lost. It may not come later.
    const isDue = client.hasReturned ? number > client.back : number === client.back + 1;
    if (!isDue) this.outOfTurn++;
    const wait = performance.now() - client.times.get(number);
    for (let due = client.back + 1; due <= number; due++) client.times.delete(due);
    client.back = Math.max(client.back, number);
    if (Number.isNaN(wait)) return;
    if (number <= client.awaited) client.silence = Math.max(client.silence, wait);
    this.waits[client.socket.io.opts.transports[0]].record(wait);
  }

  /** How long each client that has moved since the last call waited for a number meanwhile, in ms. */
  takeSilences() {
    return this.clients.flatMap((client) => {
      const { silence } = client;
      client.silence = undefined;
      return silence === undefined ? [] : [silence];
    });
  }

  /** How many numbers have not come back to clients whose connection never ended. */
  get unanswered() {
    return this.sum(({ said = 0, back = 0, hasReturned }) => (hasReturned ? 0 : said - back));
  }

  stop() {
    stopPacing();
  }
}

function expected({ ids }, stream, confirmed) {
  if (stream === 'room') return [...confirmed.keys()];
  return [...confirmed].flatMap(([number, sockets]) => (sockets.some((id) => ids.has(id)) ? [number] : []));
}
