/** The words of V8's heap, in bytes. */
const WORD = 8;
/** An object with its first fields, or an array with its elements' header. */
const OBJECT = 7 * WORD;
/** A field, and its part of the shape of the object, which other objects may share or not. */
const FIELD = 5 * WORD;
const TEXT = 3 * WORD;
/** A number that is not a small integer. */
const NUMBER = 2 * WORD;
/** An entry of a Map or Set. */
const ENTRY = 5 * WORD;
/** A view on memory outside of the heap, and that memory's own header. */
const VIEW = 40 * WORD;

/** Shorter texts are not looked at: they count as if each of their characters took two bytes. */
const MIN_CHECKED_TEXT = 256;
/** An application's data may refer to all that it has. No more values are counted. */
const MAX_VALUES = 20_000;

/** Approximate memory of a text on the heap, in bytes. */
export function memoryOfText(text: string): number {
  const { length } = text;
  const isNarrow = length >= MIN_CHECKED_TEXT && Buffer.byteLength(text) === length;
  return TEXT + (isNarrow ? length : 2 * length);
}

/** The same of bytes, which are not on the heap. */
export function memoryOfBytes({ byteLength }: { readonly byteLength: number }): number {
  return VIEW + byteLength;
}

/** Approximate memory of a value on the heap with everything that it refers to, in bytes: rather too much than too little. */
export function memoryOf(value: unknown): number {
  const seen = new Set<object>();
  const open = [value];
  let bytes = 0;
  for (let count = 0; open.length > 0 && count < MAX_VALUES; count++) {
    try {
      bytes += sizeOf(open.pop(), open, seen);
    } catch {
      // A getter or a proxy of the application has thrown.
      bytes += OBJECT;
    }
  }
  return bytes;
}

/** The memory of one value, apart from the values that it adds to the open ones. */
function sizeOf(value: unknown, open: unknown[], seen: Set<object>): number {
  if (typeof value === 'string') return memoryOfText(value);
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? 0 : NUMBER;
  if (typeof value === 'bigint') return NUMBER + value.toString(16).length;
  if (typeof value !== 'object' || value === null || seen.has(value)) return 0;
  seen.add(value);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return memoryOfBytes(value);
  if (Array.isArray(value)) {
    for (const one of value) open.push(one);
    return OBJECT + WORD * value.length;
  }
  if (value instanceof Map) {
    for (const entry of value) open.push(...entry);
    return 3 * OBJECT + ENTRY * value.size;
  }
  if (value instanceof Set) {
    for (const one of value) open.push(one);
    return 3 * OBJECT + ENTRY * value.size;
  }
  let bytes = value instanceof Date ? 2 * OBJECT : OBJECT;
  for (const [key, one] of Object.entries(value)) {
    bytes += FIELD + key.length;
    open.push(one);
  }
  return bytes;
}
