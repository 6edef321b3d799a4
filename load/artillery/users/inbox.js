import { performance } from 'node:perf_hooks';

/** The text of a user's message: who sent it, which one it is, counted from 1, and when it was sent. */
export const textOf = (user, number) => `${user.name} ${number} ${performance.now().toFixed(2)}`;

/**
 * The messages of one conversation as a user gets them: each must come once, and in order, by the numbers of its sender
 * and by the server's offsets.
 */
export class Inbox {
  #user;
  #row;
  #senders = new Map();
  #offsets;
  #early = [];
  #onNext;

  /**
   * @param {import('./user.js').User} user
   * @param {string} row of the summary, for the time that messages take from their senders to here
   */
  constructor(user, row) {
    this.#user = user;
    this.#row = row;
  }

  /** Where the conversation stands: the first message is the one behind. Some may have come before this was known. */
  startAt(position = 0) {
    this.#offsets = new Sequence(position);
    for (const message of this.#early.splice(0)) if (!(message.offset <= position)) this.#take(message);
  }

  receive(message) {
    const [, , sent] = message.text.split(' ');
    this.#user.record(this.#row, performance.now() - Number(sent));
    if (this.#offsets) this.#take(message);
    else this.#early.push(message);
    this.#onNext?.();
  }

  /** Waits until a sender's messages have come up to this one, as long as there is no silence. */
  async until(sender, number) {
    while ((this.#senders.get(sender)?.last ?? 0) < number) {
      const next = new Promise((resolve) => {
        this.#onNext = resolve;
      });
      await this.#user.within(next, 'MESSAGE_MISSING');
    }
  }

  #take({ text, offset }) {
    const [sender, number] = text.split(' ');
    // Others may have said something before this user came.
    if (!this.#senders.has(sender)) this.#senders.set(sender, new Sequence(sender === this.#user.name ? 0 : undefined));
    const faults = [this.#senders.get(sender).take(Number(number))];
    // Servers that keep no messages do not count them either.
    if (offset !== undefined) faults.push(this.#offsets.take(offset));
    const fault = faults.find((code) => code);
    if (fault) this.#user.fault(fault);
  }
}
/** Numbers that must come one after the other, without gaps. */
class Sequence {
  /** @param {number} [last] the number before the first one; without it, the first may be any */
  constructor(last) {
    this.last = last;
  }

  /**
   * Takes the next number.
   * @returns {'MESSAGE_REPEATED' | 'MESSAGE_MISSING' | undefined} what is wrong with it. One that comes too late has first
   * been missed and is then repeated.
   */
  take(number) {
    const expected = this.last === undefined ? number : this.last + 1;
    if (number < expected) return 'MESSAGE_REPEATED';
    this.last = number;
    return number > expected ? 'MESSAGE_MISSING' : undefined;
  }
}
