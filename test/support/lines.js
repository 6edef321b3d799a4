/** What comes one after the other, such as the lines of a log. @template T */
export class Lines {
  /** @type {T[]} */
  all = [];
  #watchers = new Set();

  /** @param {T} line */
  add(line) {
    this.all.push(line);
    for (const watcher of [...this.#watchers]) watcher();
  }

  /**
   * Resolves with the first one, past or to come, that fits; `from` is where the past begins.
   * @param {(line: T) => boolean} fits
   * @returns {Promise<T>}
   */
  first(fits, from = 0) {
    return new Promise((resolve) => {
      const check = () => {
        const index = this.all.findIndex((line, at) => at >= from && fits(line));
        if (index === -1) return;
        this.#watchers.delete(check);
        resolve(this.all[index]);
      };
      this.#watchers.add(check);
      check();
    });
  }
}
