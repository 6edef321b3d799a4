/** Keys whose changes come from one worker at a time, and keys that any worker may change at any time. */
const OWNED = 60;
const SHARED = 10;
/** A value is so long now and then, so that clients that do not read fall behind. */
const LONG = 'x'.repeat(5000);

export const isOwned = (key) => key.startsWith('owned');

/** What the room must hold, and the random changes that lead there. */
export class Model {
  /** Keys with the value that they must have. Shared keys, and those that a killed worker has changed, are not known. */
  known = new Map();
  changes = 0;
  #random;
  #owners = new Map();
  #unknown = new Set();

  constructor(random) {
    this.#random = random;
  }

  /** The next changes of one worker, as arguments of its room's methods. */
  changesOf(worker, workers, count) {
    const operations = [];
    for (let at = 0; at < count; at++) {
      const operation = this.#isRare(8) ? this.#shared() : this.#owned(worker, workers);
      if (operation) operations.push(operation);
    }
    return operations;
  }

  /** From now on, other workers may own the keys. What the room holds now is what it must hold. */
  settle(state) {
    this.known = new Map(state);
    this.#owners.clear();
    this.#unknown.clear();
  }

  /** What a killed worker has changed last may be lost. */
  killed(worker) {
    for (const [key, owner] of this.#owners) {
      if (owner !== worker) continue;
      this.#owners.delete(key);
      this.#unknown.add(key);
    }
  }

  /** The keys that a state has otherwise than it must. */
  wrong(state) {
    const keys = [...new Set([...this.known.keys(), ...state.keys()])];
    const isCertain = (key) => isOwned(key) && !this.#unknown.has(key);
    return keys.filter((key) => isCertain(key) && text(this.known.get(key)) !== text(state.get(key)));
  }

  #shared() {
    const key = `shared${this.#below(SHARED)}`;
    return this.#isRare(5) ? ['delete', key] : ['set', key, this.#value()];
  }

  #owned(worker, workers) {
    const key = `owned${this.#below(OWNED)}`;
    const owner = this.#owners.get(key);
    // A worker that is gone owns nothing any more.
    if (owner && owner !== worker && workers.includes(owner)) return undefined;
    this.#owners.set(key, worker);
    const isUnknown = this.#unknown.has(key);
    const kind = this.#random();
    if (kind < 0.1 && !isUnknown) {
      this.changes++;
      this.known.delete(key);
      return ['delete', key];
    }
    const value = this.#value();
    if (kind < 0.3 && !isUnknown) {
      this.known.set(key, { ...this.known.get(key), ...value });
      return ['patch', key, value];
    }
    this.#unknown.delete(key);
    this.known.set(key, value);
    return ['set', key, value];
  }

  #value() {
    const value = { n: ++this.changes };
    if (this.#isRare(4)) value[`field${this.#below(3)}`] = this.changes;
    if (this.#isRare(5)) value.long = LONG;
    return value;
  }

  #below(count) {
    return Math.floor(this.#random() * count);
  }

  #isRare(times) {
    return this.#random() < 1 / times;
  }
}

const text = (value) => JSON.stringify(value);
