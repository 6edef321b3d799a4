/** A generator of pseudo-random numbers from a seed (mulberry32): the same seed, the same test. */
export class Random {
  constructor(private state: number) {}

  /** At least 0 and below 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** An integer from 0 to `below` - 1. */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }
}
