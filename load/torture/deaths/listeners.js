import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';

/** How long a client may lack what others have already got, in ms. */
const MAX_DELAY_MS = 20_000;

/** Clients that return after each disconnection, and note every number that they hear. */
export class Listeners {
  returns = 0;
  /** Returns with a new session instead of the old one. */
  forgotten = 0;
  /** What is done to the workers. */
  fault = 'none';
  /** The faults after which clients got a new session, with their number. */
  forgottenAfter = new Map();
  #clients = [];

  constructor(url, size) {
    for (let index = 0; index < size; index++) {
      const transports = index % 4 === 0 ? ['polling'] : ['websocket'];
      const socket = io(url, { forceNew: true, transports, reconnectionDelay: 50, reconnectionDelayMax: 500 });
      const client = { socket, ids: new Set(), numbers: [], own: [], latest: new Map(), outOfOrder: 0 };
      socket.on('connect', () => {
        if (client.ids.size > 0) this.returns++;
        if (client.ids.size > 0 && !socket.recovered) this.#forget();
        client.ids.add(socket.id);
      });
      socket.on('number', (number, worker) => hear(client, client.numbers, number, `room ${worker}`));
      socket.on('own', (number, worker) => hear(client, client.own, number, `own ${worker}`));
      this.#clients.push(client);
    }
  }

  #forget() {
    this.forgotten++;
    this.forgottenAfter.set(this.fault, (this.forgottenAfter.get(this.fault) ?? 0) + 1);
  }

  get disconnected() {
    return this.#clients.filter(({ socket }) => !socket.connected).length;
  }

  /** Whether each client has received an event. */
  get haveHeard() {
    return this.#clients.every(({ numbers }) => numbers.length > 0);
  }

  get deliveries() {
    return this.#sum(({ numbers, own }) => numbers.length + own.length);
  }

  /** What confirmed messages a client lacks. @param {Map<number, string[]>} confirmed */
  lost(confirmed) {
    return this.#sum((client) => lackedBy(client, confirmed));
  }

  get repeated() {
    return this.#sum(({ numbers, own }) => repeatedIn(numbers) + repeatedIn(own));
  }

  /** Of the events that one worker has sent. There is no order between workers. */
  get outOfOrder() {
    return this.#sum(({ outOfOrder }) => outOfOrder);
  }

  /** Resolves when all clients are connected; false if that takes longer than the given time, in ms. */
  async untilConnected(timeout) {
    const end = performance.now() + timeout;
    while (this.disconnected > 0 && performance.now() < end) await sleep(50);
    return this.disconnected === 0;
  }

  /** Waits until all have got everything, for a while at most. */
  async finish(confirmed) {
    for (const end = performance.now() + MAX_DELAY_MS; this.lost(confirmed) > 0 && performance.now() < end; ) {
      await sleep(50);
    }
    for (const { socket } of this.#clients) socket.disconnect();
  }

  #sum(count) {
    return this.#clients.reduce((sum, client) => sum + count(client), 0);
  }
}

function lackedBy({ ids, numbers, own }, confirmed) {
  const heard = new Set(numbers);
  const heardAlone = new Set(own);
  let count = 0;
  for (const [number, sockets] of confirmed) {
    if (!heard.has(number)) count++;
    if (!heardAlone.has(number) && sockets.some((id) => ids.has(id))) count++;
  }
  return count;
}

const repeatedIn = (numbers) => numbers.length - new Set(numbers).size;

function hear(client, heard, number, from) {
  heard.push(number);
  if (number < (client.latest.get(from) ?? 0)) client.outOfOrder++;
  client.latest.set(from, number);
}

/** Sends one number after the other, each on a connection of its own, so that any worker gets it. */
export class Announcer {
  /** The sockets that got a number alone, by number. All clients got it in their room. */
  confirmed = new Map();
  unconfirmed = 0;
  isPaused = false;
  #number = 0;
  #isOn = true;
  #loop;

  constructor(url, intervalMs) {
    this.#loop = this.#run(url, intervalMs);
  }

  async #run(url, intervalMs) {
    for (; this.#isOn; await sleep(intervalMs)) {
      if (this.isPaused) continue;
      const number = ++this.#number;
      const sockets = await send(`${url}/?number=${number}`);
      if (sockets) this.confirmed.set(number, sockets);
      else this.unconfirmed++;
    }
  }

  /** Resolves when the last number is sent. */
  async stop() {
    this.#isOn = false;
    await this.#loop;
  }
}

function send(url) {
  return new Promise((resolve) => {
    request(url, { agent: false, timeout: 15_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      response.on('end', () => resolve(response.statusCode === 200 ? JSON.parse(text) : undefined));
      response.on('error', () => resolve(undefined));
    })
      .on('error', () => resolve(undefined))
      .on('timeout', function onTimeout() {
        this.destroy();
      })
      .end();
  });
}
