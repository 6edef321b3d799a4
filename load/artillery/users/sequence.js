/** Numbers that must come one after the other, without gaps. */
export class Sequence {
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
