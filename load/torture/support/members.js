import { setTimeout as sleep } from 'node:timers/promises';
import { Rooms } from '../../../public/gjallar-client.js';
import { soon } from '../../harness/until.js';
import { Crowd } from './crowd.js';

/** How long a client waits for the answer to a message, in ms. */
const ANSWER_TIMEOUT = 8000;
/** How long the history may be unreachable to a member that joins, in ms. */
const JOIN_TIMEOUT = 20_000;
/** Refusals that promise that nothing was kept. */
const REFUSED = ['HISTORY_UNAVAILABLE', 'HISTORY_REFUSED', 'NOT_IN_ROOM'];
const TRANSPORTS = [['polling', 'websocket'], ['websocket'], ['polling']];

/** Members of several rooms of the chat service that talk all the time. A message has the key `sender:number`. */
export class Members extends Crowd {
  /** What became of each text: `acked`, `refused`, `unknown`; with its room, and the time of the acknowledgement. */
  verdicts = new Map();
  incomplete = 0;
  #isTalking = true;
  #lastAck = performance.now();
  #longestGap = 0;
  #talking;

  /**
   * @param {(index: number) => string} urlOf where a member connects
   * @param {{ count: number, rooms: string[], pause: number }} options
   *   `pause` between two messages of one, in ms
   */
  constructor(urlOf, { count, rooms, pause }) {
    super();
    this.pause = pause;
    for (let index = 0; index < count; index++) {
      const options = { transports: TRANSPORTS[index % 3], reconnectionDelay: 100, reconnectionDelayMax: 1000 };
      // Two rooms each, so that every room has members on several workers.
      const names = [rooms[index % rooms.length], rooms[(index + 1) % rooms.length]];
      const state = { index, names, lastAck: performance.now() };
      const member = this.add(urlOf(index), { ...options, timeout: 5000, auth: { name: `member${index}` } }, state);
      member.rooms = new Rooms(member.socket);
    }
  }

  async join() {
    await Promise.all(this.clients.flatMap((member) => member.names.map((room) => this.#enter(member, room))));
    this.#talking = this.clients.map((member) => this.#talk(member));
  }

  async #enter(member, room) {
    member.heard.set(room, []);
    const options = {
      onMessage: ({ text, tag }) => this.hear(member, room, { key: text, tag }),
      onRecovered: ({ complete }) => {
        if (!complete) this.incomplete++;
      },
    };
    const isJoined = () =>
      member.rooms.join(room, options).catch((error) => {
        // On a busy machine, a worker may take Redis for silent for a moment. The error says to try again.
        if (error.code !== 'HISTORY_UNAVAILABLE') throw error;
      });
    if (!(await soon(isJoined, JOIN_TIMEOUT, 100))) throw new Error('the history stays unreachable');
  }

  async #talk(member) {
    for (let number = 0; this.#isTalking; number++) {
      await sleep(this.pause * (0.5 + Math.random()));
      if (!member.socket.connected) continue;
      const room = member.names[number % member.names.length];
      const text = `${member.index}:${number}`;
      this.verdicts.set(text, { ...(await this.#say(member, room, text)), room });
    }
  }

  async #say(member, room, text) {
    let reply;
    try {
      reply = await member.socket.timeout(ANSWER_TIMEOUT).emitWithAck('message', { room, text });
    } catch {
      return { outcome: 'unknown' };
    }
    if (!reply.ok) return { outcome: REFUSED.includes(reply.code) ? 'refused' : 'unknown' };
    const now = performance.now();
    this.#longestGap = Math.max(this.#longestGap, now - this.#lastAck);
    this.#lastAck = now;
    member.lastAck = now;
    return { outcome: 'acked', at: now };
  }

  /** Resolves with true when every member has got an answer since now, or with false when that takes too long. */
  async allServed(timeout) {
    const since = performance.now();
    return soon(() => this.clients.every(({ lastAck }) => lastAck >= since), timeout);
  }

  /** The longest time since the last call in which no member got an answer, in ms. */
  takeLongestGap() {
    const gap = Math.max(this.#longestGap, performance.now() - this.#lastAck);
    this.#longestGap = 0;
    return Math.round(gap);
  }

  /** Stops all members; resolves when each has received every message, or when that takes too long. */
  async finish(timeout) {
    this.#isTalking = false;
    await Promise.all(this.#talking);
    await soon(() => this.missing() === 0, timeout, 100);
  }

  missing() {
    const texts = new Map();
    for (const [text, verdict] of this.verdicts) {
      if (verdict.outcome === 'acked') {
        if (!texts.has(verdict.room)) texts.set(verdict.room, []);
        texts.get(verdict.room).push(text);
      }
    }
    return this.lacking((_member, room) => texts.get(room) ?? []);
  }

  /** Positions that do not grow, and acknowledged messages of one sender that come before an earlier one. */
  outOfOrder() {
    return super.outOfOrder(({ key, tag }) => {
      const [sender, number] = key.split(':');
      const isKept = this.verdicts.get(key)?.outcome === 'acked';
      return [['room', tag], ...(isKept ? [[`sender ${sender}`, Number(number)]] : [])];
    });
  }

  /** Messages that the server said it did not keep, and that came all the same. */
  refusedButHeard() {
    const isRefused = ({ key }) => this.verdicts.get(key)?.outcome === 'refused';
    return this.sum(({ heard }) => [...heard.values()].flat().filter(isRefused).length);
  }

  count(outcome) {
    return [...this.verdicts.values()].filter((verdict) => verdict.outcome === outcome).length;
  }

  leave() {
    for (const { rooms } of this.clients) rooms.close();
    this.close();
  }
}
