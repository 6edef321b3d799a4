import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';
import { Rooms } from '../../../public/gjallar-client.js';
import { soon } from '../../harness/until.js';

/** How long a client waits for the answer to a message, in ms. */
const ANSWER_TIMEOUT = 8000;
/** Refusals that promise that nothing was kept. */
const REFUSED = ['HISTORY_UNAVAILABLE', 'HISTORY_REFUSED', 'NOT_IN_ROOM'];

/** Members of several rooms that talk all the time and remember every message. */
export class Members {
  /** What became of each text: `acked`, `refused`, `unknown`; with the epoch and the time of the acknowledgement. */
  verdicts = new Map();
  /** Messages that the server sent by itself although it had sent the same text to the same member before. */
  pushedAgain = 0;
  incomplete = 0;
  /** Messages that a member had missed, and requested after a reconnection. */
  recovered = 0;
  /** The codes of rejected messages. */
  rejections = [];
  acks = 0;
  reconnections = 0;
  /** Those of members that stay on polling, among them. */
  pollingReconnections = 0;
  #members;
  #isTalking = true;
  #lastAck = performance.now();
  #longestGap = 0;
  #talking;
  #textOf;
  /** While it is set, members say nothing. */
  isQuiet = false;

  /**
   * @param {(index: number) => string} urlOf where a member connects
   * @param {{ count: number, rooms: string[], pause: number, Helper?: typeof Rooms, textOf?: (message: any) => string }}
   *   options `pause` between two messages of one, in ms; `textOf` the text of a message as the helper gives it
   */
  constructor(urlOf, { count, rooms, pause, Helper = Rooms, textOf = ({ text }) => text }) {
    const transports = [['polling', 'websocket'], ['websocket'], ['polling']];
    this.#members = Array.from({ length: count }, (_, index) => {
      const options = { transports: transports[index % 3], reconnectionDelay: 100, reconnectionDelayMax: 1000 };
      const socket = io(urlOf(index), { ...options, timeout: 5000, forceNew: true, auth: { name: `member${index}` } });
      socket.io.on('reconnect', () => {
        this.reconnections++;
        if (index % 3 === 2) this.pollingReconnections++;
      });
      const member = { index, socket, rooms: new Helper(socket), lastAck: performance.now(), heard: new Map() };
      const pushed = new Set();
      socket.on('message', ({ text }) => {
        if (pushed.has(text)) this.pushedAgain++;
        pushed.add(text);
      });
      // Two rooms each, so that every room has members on several workers.
      member.names = [rooms[index % rooms.length], rooms[(index + 1) % rooms.length]];
      return member;
    });
    this.pause = pause;
    this.#textOf = textOf;
  }

  async join() {
    await Promise.all(this.#members.flatMap((member) => member.names.map((room) => this.#enter(member, room))));
    this.#talking = this.#members.map((member) => this.#talk(member));
  }

  async #enter(member, room) {
    const heard = [];
    member.heard.set(room, heard);
    await member.rooms.join(room, {
      onMessage: (message) => heard.push({ text: this.#textOf(message), epoch: message.epoch, offset: message.offset }),
      onRecovered: ({ missed, complete, isFirst }) => {
        if (!complete) this.incomplete++;
        if (!isFirst) this.recovered += missed;
      },
    });
  }

  async #talk(member) {
    for (let number = 0; this.#isTalking; number++) {
      await sleep(this.pause * (0.5 + Math.random()));
      if (!member.socket.connected || this.isQuiet) continue;
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
    if (!reply.ok) {
      this.rejections.push(reply.code);
      return { outcome: REFUSED.includes(reply.code) ? 'refused' : 'unknown' };
    }
    const now = performance.now();
    this.acks++;
    this.#longestGap = Math.max(this.#longestGap, now - this.#lastAck);
    this.#lastAck = now;
    member.lastAck = now;
    return { outcome: 'acked', epoch: reply.epoch, at: now };
  }

  /** Resolves with true when every member has got an answer since now, or with false when that takes too long. */
  async allServed(timeout) {
    const since = performance.now();
    return soon(() => this.#members.every(({ lastAck }) => lastAck >= since), timeout);
  }

  /** The longest time since the last call in which no member got an answer, in ms. */
  takeLongestGap() {
    const gap = Math.max(this.#longestGap, performance.now() - this.#lastAck);
    this.#longestGap = 0;
    return Math.round(gap);
  }

  /** Stops all members; resolves when each has received every message, or when that takes too long. */
  async finish(timeout, counts = undefined) {
    this.#isTalking = false;
    await Promise.all(this.#talking);
    await soon(() => this.missing(counts) === 0, timeout);
  }

  /** @param {(verdict: { epoch: string, at: number }) => boolean} counts which acknowledged messages count */
  missing(counts = () => true) {
    return this.#count(({ heard, acked }) => {
      const texts = new Set(heard.map(({ text }) => text));
      return acked.filter((text) => !texts.has(text) && counts(this.verdicts.get(text))).length;
    });
  }

  get deliveries() {
    return this.#count(({ heard }) => heard.length);
  }

  duplicated() {
    return this.#count(({ heard }) => heard.length - new Set(heard.map(({ text }) => text)).size);
  }

  /** Positions that do not grow, and acknowledged messages of one sender that come before an earlier one. */
  outOfOrder() {
    return this.#count(({ heard }) => {
      const last = new Map();
      let position = { epoch: undefined, offset: 0 };
      let wrong = 0;
      for (const { text, epoch, offset } of heard) {
        if (epoch === position.epoch && offset <= position.offset) wrong++;
        position = { epoch, offset };
        if (this.verdicts.get(text)?.outcome !== 'acked') continue;
        const [sender, number] = text.split(':');
        if (Number(number) < (last.get(sender) ?? -1)) wrong++;
        last.set(sender, Number(number));
      }
      return wrong;
    });
  }

  /** Messages that the server said it did not keep, and that came all the same. */
  refusedButHeard() {
    return this.#count(
      ({ heard }) => heard.filter(({ text }) => this.verdicts.get(text)?.outcome === 'refused').length,
    );
  }

  count(outcome) {
    return [...this.verdicts.values()].filter((verdict) => verdict.outcome === outcome).length;
  }

  #count(of) {
    const acked = new Map();
    for (const [text, { outcome, room }] of this.verdicts) {
      if (!acked.has(room)) acked.set(room, []);
      if (outcome === 'acked') acked.get(room).push(text);
    }
    let sum = 0;
    for (const member of this.#members) {
      for (const [room, heard] of member.heard) sum += of({ heard, acked: acked.get(room) ?? [] });
    }
    return sum;
  }

  leave() {
    for (const { rooms, socket } of this.#members) {
      rooms.close();
      socket.disconnect();
    }
  }
}
