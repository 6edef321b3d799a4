/**
 * How long answers took. A request without an answer counts for as long as it has waited: a worker that never answers
 * must not look fast.
 */
export class Waits {
  answered = 0;
  #longest = 0;
  /** When each request was sent that has no answer yet. */
  #pending = new Map();

  sent(id, at) {
    this.#pending.set(id, at);
  }

  answer(id, at) {
    const sentAt = this.#pending.get(id);
    if (sentAt === undefined) return;
    this.#pending.delete(id);
    this.answered++;
    this.#longest = Math.max(this.#longest, at - sentAt);
  }

  /** The connection is lost: none of the pending requests will be answered. */
  abandon(at) {
    this.#longest = this.longest(at);
    this.#pending.clear();
  }

  get isSettled() {
    return this.#pending.size === 0;
  }

  /** The longest wait in ms, up to `now` for requests without an answer. */
  longest(now) {
    const [oldest = now] = this.#pending.values();
    return Math.max(this.#longest, now - oldest);
  }

  /** Forgets the requests that were answered so far. */
  reset() {
    this.answered = 0;
    this.#longest = 0;
  }
}
