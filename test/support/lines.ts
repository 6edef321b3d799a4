/** What comes one after the other, such as the lines of a log. */
export class Lines<T> {
  readonly all: T[] = [];
  private readonly watchers = new Set<() => void>();

  add(line: T): void {
    this.all.push(line);
    for (const watcher of [...this.watchers]) watcher();
  }

  /** Resolves with the first one, past or to come, that fits. */
  first(fits: (line: T) => boolean): Promise<T> {
    return new Promise((resolve) => {
      const check = () => {
        const index = this.all.findIndex(fits);
        if (index === -1) return;
        this.watchers.delete(check);
        resolve(this.all[index] as T);
      };
      this.watchers.add(check);
      check();
    });
  }
}
