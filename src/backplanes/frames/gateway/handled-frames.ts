import { crc32 } from 'node:zlib';

/** How many numbers are remembered at first, and at most. Powers of two. */
const MIN_SIZE = 64;
const MAX_SIZE = 8192;
/** A number that is further back than this cannot be that of a repeated frame. */
const MAX_DISTANCE = 8 * MAX_SIZE;

/**
 * The last frames of a sender that were handled, by their numbers and checksums. A number alone proves nothing: it may be
 * forged or corrupt, and a sender that restarts counts from 1 again.
 */
export class HandledFrames {
  /** Each number has one place, which it shares with those a multiple of the size away. 0 is no number of a frame. */
  private numbers = new Float64Array(MIN_SIZE);
  private sums = new Uint32Array(MIN_SIZE);

  add(number: number, bytes: Uint8Array): void {
    while (this.isTaken(number) && this.numbers.length < MAX_SIZE) this.grow();
    const place = number % this.numbers.length;
    this.numbers[place] = number;
    this.sums[place] = crc32(bytes);
  }

  /** Whether a frame with this number is remembered. */
  has(number: number): boolean {
    return this.numbers[number % this.numbers.length] === number;
  }

  /** Whether this very frame is remembered. */
  hasFrame(number: number, bytes: Uint8Array): boolean {
    return this.has(number) && this.sums[number % this.numbers.length] === crc32(bytes);
  }

  /** Whether a frame with this number may have been handled so long ago that it is forgotten. */
  mayHaveForgotten(number: number): boolean {
    const newer = this.numbers[number % this.numbers.length]!;
    return newer > number && newer - number <= MAX_DISTANCE;
  }

  /** Whether another number has the place of this one. */
  private isTaken(number: number): boolean {
    const there = this.numbers[number % this.numbers.length]!;
    return there !== 0 && there !== number;
  }

  private grow(): void {
    const { numbers, sums } = this;
    this.numbers = new Float64Array(2 * numbers.length);
    this.sums = new Uint32Array(2 * numbers.length);
    for (const [index, number] of numbers.entries()) {
      const place = number % this.numbers.length;
      this.numbers[place] = number;
      this.sums[place] = sums[index]!;
    }
  }
}
