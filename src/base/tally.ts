/** How many there are of each key. Zeros are not kept. */
export class Tally<Key> extends Map<Key, number> {
  of(key: Key): number {
    return this.get(key) ?? 0;
  }

  add(key: Key): void {
    this.set(key, this.of(key) + 1);
  }

  remove(key: Key): void {
    const left = this.of(key) - 1;
    if (left > 0) this.set(key, left);
    else this.delete(key);
  }
}
