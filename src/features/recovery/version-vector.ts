export const SEPARATOR = '~';
const NAME = /^[\w-]{1,16}$/;
const NUMBER = /^[0-9a-z]{1,10}$/;

/** Whether a text can name a worker in an offset. */
export function isWorkerName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/** A name and a number, as in an offset; undefined for any other text. */
export function numberIn(text: string): [name: string, number: number] | undefined {
  const dot = text.indexOf('.');
  const name = text.slice(0, dot);
  const number = text.slice(dot + 1);
  return dot > 0 && NAME.test(name) && NUMBER.test(number) ? [name, Number.parseInt(number, 36)] : undefined;
}

/**
 * Who has received what: of each sender, everything up to a number. It travels as text, `~<sender>.<number>~<sender>.<number>…` with
 * numbers in base 36, and as a part of offsets.
 */
export class VersionVector implements Iterable<readonly [sender: string, number: number]> {
  private readonly numbers: Map<string, number>;
  private text: string | undefined;

  constructor(numbers: Iterable<readonly [sender: string, number: number]> = []) {
    this.numbers = new Map(numbers);
  }

  /** Reads a text. Malformed parts are left out, and so is everything of undefined. */
  static parse(text = ''): VersionVector {
    return new VersionVector(
      text
        .split(SEPARATOR)
        .map(numberIn)
        .filter((one) => one !== undefined),
    );
  }

  /** What any of them has received. */
  static union(...vectors: readonly Iterable<readonly [string, number]>[]): VersionVector {
    const all = new VersionVector();
    for (const one of vectors) for (const [sender, number] of one) all.raise(sender, number);
    return all;
  }

  /** The number of the newest of a sender; 0 for none. */
  of(sender: string): number {
    return this.numbers.get(sender) ?? 0;
  }

  /** Whether it says something of a sender. */
  knows(sender: string): boolean {
    return this.numbers.has(sender);
  }

  /** Everything of a sender up to a number is received. */
  raise(sender: string, number: number): void {
    if (number <= this.of(sender) && this.knows(sender)) return;
    this.numbers.set(sender, number);
    this.text = undefined;
  }

  /** Of each sender of which it has more than another one, its number. */
  beyond(other: Pick<VersionVector, 'of'>): VersionVector {
    return this.filter((sender, number) => number > other.of(sender));
  }

  /** Nothing of a sender counts as received any more. */
  forget(sender: string): void {
    this.numbers.delete(sender);
    this.text = undefined;
  }

  filter(isKept: (sender: string, number: number) => boolean): VersionVector {
    return new VersionVector([...this.numbers].filter(([sender, number]) => isKept(sender, number)));
  }

  some(isOne: (sender: string) => boolean): boolean {
    return [...this.numbers.keys()].some(isOne);
  }

  get size(): number {
    return this.numbers.size;
  }

  [Symbol.iterator](): Iterator<[sender: string, number: number]> {
    return this.numbers[Symbol.iterator]();
  }

  toString(): string {
    this.text ??= Array.from(this.numbers, ([sender, number]) => `${SEPARATOR}${sender}.${number.toString(36)}`).join(
      '',
    );
    return this.text;
  }
}
