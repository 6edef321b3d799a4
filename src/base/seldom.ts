/** Lets something happen at most once in a time, such as a line of the log, and counts how often it was due. */
export class Seldom {
  private readonly kinds = new Map<string, { at: number; count: number }>();

  constructor(
    private readonly ms: number,
    private readonly now = () => performance.now(),
  ) {}

  /**
   * @param kind each kind has a time of its own; one of a bounded list
   * @param by how often it is due at once
   * @returns how often it was due since the last time, this time included; undefined if it is too early
   */
  due(kind = '', by = 1): number | undefined {
    const known = this.kinds.get(kind);
    const count = (known?.count ?? 0) + by;
    const now = this.now();
    if (known && now - known.at < this.ms) {
      known.count = count;
      return undefined;
    }
    this.kinds.set(kind, { at: now, count: 0 });
    return count;
  }
}
