/** The lines of a log, and those that are waited for. */
export class LogLines {
  #lines = [];
  #watchers = new Set();

  get length() {
    return this.#lines.length;
  }

  /** The lines from the given one on. */
  since(from) {
    return this.#lines.slice(from);
  }

  add(line) {
    this.#lines.push(line);
    for (const watcher of [...this.#watchers]) watcher();
  }

  /** Resolves with the first line, from the given one on, that fits. */
  until(fits, from = 0) {
    return new Promise((resolve) => {
      const check = () => {
        const line = this.since(from).find(fits);
        if (line === undefined) return;
        this.#watchers.delete(check);
        resolve(line);
      };
      this.#watchers.add(check);
      check();
    });
  }
}
