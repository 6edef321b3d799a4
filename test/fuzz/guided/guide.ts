import { Random } from '../../io/rooms/support/random.js';

/** Code that reads what others send. */
export interface Target {
  /** Inputs that it is known to read. */
  readonly seeds: readonly (string | Uint8Array)[];
  /** Reads any input. @throws Error if it does what it must not do */
  run(input: Buffer): void | Promise<void>;
}

/** The longest input, in bytes. */
const MAX_BYTES = 8192;
/** How many times an input is changed at once, at most. */
const MAX_CHANGES = 4;

/** What means something to JavaScript, JSON or the protocols. */
const WORDS = [
  ...['', '"', '[', ']', '{', '}', ',', ':', '\\', '-', '/', '%', '#', ' ', '\0', '\n', '\x1e', '\x7f', '&', '=', '?'],
  ...['__proto__', 'constructor', 'disconnect', 'null', 'true', '-1', '1e999', '99999999999999999999', '{}', '[]'],
  ...['{"_placeholder":true,"num":0}', '{"_placeholder":true,"num":5}', '\ud800', '\ufeff', '💥', 'é'.repeat(65)],
  ...['[1]', '"type":', '"opts":', '"uid":', '"nsp":', '"data":', '"rooms":', '"packet":', '"requestId":'],
  ...['['.repeat(1001), '['.repeat(2001), ',0'.repeat(70), 'x'.repeat(1025)],
].map((word) => Buffer.from(word));

const NUMBERS = [0, 1, 2, 3, 4, 5, 8, 100, 125, 126, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31, 2 ** 32 - 1];

/** An input with some changes by chance. */
export function changed(input: Buffer, others: readonly Buffer[], random: Random): Buffer {
  let bytes: Buffer = Buffer.from(input);
  for (let left = 1 + random.below(MAX_CHANGES); left > 0; left--) bytes = change(bytes, others, random);
  return bytes.subarray(0, MAX_BYTES);
}

function change(bytes: Buffer, others: readonly Buffer[], random: Random): Buffer {
  const at = random.below(bytes.length + 1);
  const length = random.chance(0.7) ? 1 + random.below(4) : 1 + random.below(bytes.length + 1);
  const replaced = (by: Uint8Array, removed: number) =>
    Buffer.concat([bytes.subarray(0, at), by, bytes.subarray(at + removed)]);
  switch (random.below(8)) {
    case 0: {
      if (bytes.length > 0) bytes[at % bytes.length]! ^= 1 << random.below(8);
      return bytes;
    }
    case 1:
      if (bytes.length > 0) bytes[at % bytes.length] = random.below(256);
      return bytes;
    case 2:
      return replaced(Buffer.alloc(0), length);
    case 3:
      return replaced(bytes.subarray(at, at + length), 0);
    case 4:
      return replaced(random.pick(WORDS), random.chance(0.5) ? 0 : length);
    case 5: {
      const number = Buffer.alloc(4);
      number.writeUInt32LE(random.pick(NUMBERS));
      const used = random.chance(0.5) ? number : Buffer.from(number.subarray(0, 2));
      if (random.chance(0.3)) used.reverse();
      return replaced(used, used.length);
    }
    case 6:
      return replaced(Buffer.from(String(random.pick(NUMBERS))), random.below(3));
    default: {
      const other = random.pick(others);
      const from = random.below(other.length + 1);
      return replaced(other.subarray(from, from + length), random.chance(0.5) ? 0 : length);
    }
  }
}

/** What istanbul counts in a file. */
type Counts = Readonly<Record<string, Readonly<Record<'b', Readonly<Record<string, number[]>>>>>>;

/** Finds out which inputs reach branches that no input before has reached. Without `jest --coverage`, none does. */
export class Guide {
  private unreached: (readonly [counts: number[], index: number])[] | undefined;

  /** Whether a branch was reached for the first time. */
  hasNew(): boolean {
    this.unreached ??= this.all();
    const left = this.unreached.filter(([counts, index]) => counts[index] === 0);
    const isNew = left.length < this.unreached.length;
    this.unreached = left;
    return isNew;
  }

  private all(): (readonly [number[], number])[] {
    const { __coverage__ = {} } = globalThis as { __coverage__?: Counts };
    return Object.values(__coverage__)
      .flatMap(({ b }) => Object.values(b))
      .flatMap((counts) => counts.map((_, index) => [counts, index] as const));
  }
}

export interface Run {
  /** Recorded inputs. */
  readonly corpus: readonly Buffer[];
  readonly seed: number;
  /** How many changed inputs are tried. */
  readonly times: number;
  readonly guide: Guide;
}

/** Tries inputs, and those that reach something new are changed further. @returns the corpus, with what was found */
export async function fuzz(target: Target, { corpus, seed, times, guide }: Run): Promise<Buffer[]> {
  const random = new Random(seed);
  const known: Buffer[] = [];
  const attempt = async (input: Buffer) => {
    try {
      // The target may change its input.
      await target.run(Buffer.from(input));
    } catch (error) {
      throw new Error(`Input in base64: ${input.toString('base64')}`, { cause: error });
    }
    return guide.hasNew();
  };
  for (const input of [...target.seeds.map((one) => Buffer.from(one as string)), ...corpus]) {
    await attempt(input);
    known.push(input);
  }
  for (let count = 0; count < times; count++) {
    const input = changed(random.pick(known), known, random);
    if (await attempt(input)) known.push(input);
  }
  return known.slice(target.seeds.length);
}
