import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';
import { Rooms } from '../../../public/gjallar-client.js';

const ROOM = 'versions';
const TRANSPORTS = [['websocket'], ['polling'], ['polling', 'websocket']];

/** A client that posts numbered messages to a room all the time, and hears those of all others. */
class Talker {
  /** How often each text was heard. */
  heard = new Map();
  /** The texts that were acknowledged. */
  kept = [];
  unanswered = 0;
  /** Codes of rejected messages. After a reconnection, `NOT_IN_ROOM` until the client has joined again. */
  refused = [];
  disorder = 0;
  recovered = 0;
  incomplete = 0;
  #last = new Map();

  constructor(name, url, transports) {
    this.name = name;
    this.socket = io(url, { transports, forceNew: true, auth: { name }, reconnectionDelayMax: 1000 });
    this.rooms = new Rooms(this.socket);
  }

  async join() {
    await this.rooms.join(ROOM, {
      onMessage: ({ text }) => this.#hear(text),
      onRecovered: ({ missed, complete, isFirst }) => {
        if (isFirst) return;
        this.recovered += missed;
        if (!complete) this.incomplete += 1;
      },
    });
  }

  #hear(text) {
    this.heard.set(text, (this.heard.get(text) ?? 0) + 1);
    const [author, number] = text.split(' ');
    if (Number(number) <= (this.#last.get(author) ?? 0)) this.disorder += 1;
    this.#last.set(author, Number(number));
  }

  /** Posts until `isOver`, at most one message at a time: a message that is not acknowledged is not sent again. */
  async talk(pauseMs, isOver) {
    for (let number = 1; !isOver(); number++) {
      const text = `${this.name} ${number}`;
      try {
        const reply = await this.socket.timeout(5000).emitWithAck('message', { room: ROOM, text });
        if (reply.ok) this.kept.push(text);
        else this.refused.push(reply.code);
      } catch {
        this.unanswered += 1;
      }
      await sleep(pauseMs);
    }
  }

  close() {
    this.rooms.close();
    this.socket.disconnect();
  }
}

/** Clients of all transports, evenly spread over the addresses. */
export class Talkers {
  #isOver = false;
  #talking;

  constructor(urls, count) {
    this.all = Array.from({ length: count }, (_, index) => {
      const transports = TRANSPORTS[Math.floor(index / urls.length) % TRANSPORTS.length];
      return new Talker(`talker-${index}`, urls[index % urls.length], transports);
    });
  }

  async start(pauseMs) {
    await Promise.all(this.all.map((talker) => talker.join()));
    this.#talking = Promise.all(this.all.map((talker) => talker.talk(pauseMs, () => this.#isOver)));
  }

  async stop() {
    this.#isOver = true;
    await this.#talking;
  }

  sum(read) {
    return this.all.reduce((sum, talker) => sum + read(talker), 0);
  }

  get kept() {
    return this.all.flatMap(({ kept }) => kept);
  }

  /** Acknowledged messages that a client has not heard, over all clients. */
  get missing() {
    const kept = this.kept;
    return this.sum(({ heard }) => kept.filter((text) => !heard.has(text)).length);
  }

  get repeated() {
    return this.sum(({ heard }) => [...heard.values()].reduce((sum, times) => sum + times - 1, 0));
  }

  close() {
    for (const talker of this.all) talker.close();
  }
}
