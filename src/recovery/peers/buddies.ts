/** The other workers of this machine, as far as copies of sessions are concerned. */
interface Machine {
  /** The id of this worker. */
  readonly id: number;
  /** The ids of the other workers. */
  readonly members: readonly number[];
}

/**
 * Chooses the worker that keeps copies of this worker's sessions in one namespace: the next one by id that has the
 * namespace. It stays the buddy until it is gone.
 */
export class Buddies {
  private chosen: number | undefined;
  /** Workers that are known to have the namespace. The others drop what they are sent. */
  private readonly present = new Set<number>();
  /** Workers that soon keep nothing any more. */
  private readonly leaving = new Set<number>();

  constructor(private readonly machine: Machine) {}

  get current(): number | undefined {
    this.chosen ??= this.next();
    return this.chosen;
  }

  private next(): number | undefined {
    const { id, members } = this.machine;
    const others = members.filter((other) => !this.leaving.has(other)).sort((a, b) => a - b);
    const present = others.filter((other) => this.present.has(other));
    const ring = present.length > 0 ? present : others;
    return ring.find((other) => other > id) ?? ring[0];
  }

  /** A worker has created the namespace, or has had it before this one. */
  has(worker: number): void {
    this.present.add(worker);
    // It may have closed the namespace, and opened it again.
    this.leaving.delete(worker);
    if (this.chosen !== undefined && !this.present.has(this.chosen)) this.chosen = undefined;
  }

  leaves(worker: number): void {
    this.leaving.add(worker);
    this.present.delete(worker);
    if (this.chosen === worker) this.chosen = undefined;
  }

  gone(worker: number): void {
    this.leaves(worker);
    this.leaving.delete(worker);
  }
}
