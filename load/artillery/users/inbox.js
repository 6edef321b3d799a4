import { performance } from 'node:perf_hooks';

/** The text of a user's message: who sent it, which one it is, counted from 1, and when it was sent. */
export const textOf = (user, number) => `${user.name} ${number} ${performance.now().toFixed(2)}`;

/** What the server's own numbers stand under, beside those of the senders. */
const OFFSETS = Symbol('offsets');

/**
 * The messages of one conversation as a user gets them: each must come once, and in order, by the numbers of its sender
 * and by the server's offsets.
 */
export class Inbox {
  #user;
  #row;
  /** The last number of each sender. Others than the user may have said something before it came. */
  #last;
  #early = [];
  #onNext;

  /**
   * @param {import('./user.js').User} user
   * @param {string} row of the summary, for the time that messages take from their senders to here
   */
  constructor(user, row) {
    this.#user = user;
    this.#row = row;
    this.#last = new Map([[user.name, 0]]);
  }

  /** Where the conversation stands: the first message is the one behind. Some may have come before this was known. */
  startAt(position = 0) {
    this.#last.set(OFFSETS, position);
    for (const message of this.#early.splice(0)) if (!(message.offset <= position)) this.#take(message);
  }

  receive(message) {
    const [, , sent] = message.text.split(' ');
    this.#user.record(this.#row, performance.now() - Number(sent));
    if (this.#last.has(OFFSETS)) this.#take(message);
    else this.#early.push(message);
    this.#onNext?.();
  }

  /** Waits until a sender's messages have come up to this one, as long as there is no silence. */
  async until(sender, number) {
    while ((this.#last.get(sender) ?? 0) < number) {
      const next = new Promise((resolve) => {
        this.#onNext = resolve;
      });
      await this.#user.within(next, 'MESSAGE_MISSING');
    }
  }

  #take({ text, offset }) {
    const [sender, number] = text.split(' ');
    const faults = [this.#faultOf(sender, Number(number))];
    // Servers that keep no messages do not count them either.
    if (offset !== undefined) faults.push(this.#faultOf(OFFSETS, offset));
    const fault = faults.find((code) => code);
    if (fault) this.#user.fault(fault);
  }

  /** Numbers must come one after the other, without gaps. One that comes too late has first been missed and is then repeated. */
  #faultOf(sender, number) {
    const last = this.#last.get(sender) ?? number - 1;
    if (number <= last) return 'MESSAGE_REPEATED';
    this.#last.set(sender, number);
    return number > last + 1 ? 'MESSAGE_MISSING' : undefined;
  }
}
