import { warnOnce } from './warnings.js';

/** JSON of applications is not nested as deep. Deeper walks could overflow the stack. */
const MAX_DEPTH = 500;
/** Characters of the place that a report names. Clients may cause it. */
const MAX_PATH = 200;
/** In place of what a getter throws instead of returning. Nothing can send it. */
const UNREADABLE = 0n;
const PLAIN: ReadonlySet<unknown> = new Set([Object.prototype, null]);

/**
 * What can be sent of a value of the application, as JSON with binary attachments. BigInt, timers, objects that contain
 * themselves and those whose getters throw are left out, which is reported once. An object of a class is left
 * out as a whole, unless it is the value itself.
 * @param source what the value is, as the report names it
 * @returns the value itself if all of it can be sent
 */
export function sendable<T>(value: T, source: string): T {
  const walk = new Walk();
  const part = walk.part(value);
  if (walk.dropped !== undefined) {
    warnOnce(
      'GJALLAR_UNSENDABLE',
      `Other servers get ${source} without values that JSON cannot express, such as timers, BigInt and objects that ` +
        `contain themselves. The first one is "${walk.dropped.slice(0, MAX_PATH)}". Keep only plain values there.`,
      source,
    );
  }
  return part as T;
}

class Walk {
  /** Where the first value is that was left out. */
  dropped: string | undefined;
  /** The names on the way to the value that is being walked. */
  private readonly path: string[] = [];
  /** Whether the objects that were found until now can be sent as a whole; false for those that are being walked. */
  private readonly known = new Map<object, boolean>();

  /** @returns the value itself, a copy without some values, or undefined */
  part(value: unknown, depth = 0): unknown {
    if (typeof value === 'bigint') return this.drop();
    if (typeof value !== 'object' || value === null) return value;
    if (isBinary(value)) return hasBytes(value) ? value : this.drop();
    const known = this.known.get(value);
    // An incomplete copy is used once, so that what is sent cannot grow beyond what was there.
    if (known !== undefined || depth > MAX_DEPTH) return known ? value : this.drop();
    this.known.set(value, false);
    const { length } = this.path;
    let part: unknown;
    try {
      part = this.partOfObject(value, depth + 1);
    } catch {
      this.path.length = length;
      return this.drop();
    }
    this.known.set(value, part === value);
    return part;
  }

  private partOfObject(value: object, depth: number): unknown {
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === 'function') {
      const json: unknown = toJSON.call(value);
      return Object.is(this.part(json, depth), json) ? value : undefined;
    }
    const isPlain = depth === 1 || Array.isArray(value) || PLAIN.has(Object.getPrototypeOf(value));
    const parts: [name: string, part: unknown][] = [];
    let isWhole = true;
    for (const name of Object.keys(value)) {
      if (isPlain) this.path.push(name);
      const child = this.read(value, name);
      const part = this.part(child, depth);
      if (isPlain) this.path.pop();
      if (!Object.is(part, child)) isWhole = false;
      if (!isWhole && !isPlain) return undefined;
      parts.push([name, part]);
    }
    if (isWhole) return value;
    return Array.isArray(value) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
  }

  private read(value: object, name: string): unknown {
    try {
      return (value as Record<string, unknown>)[name];
    } catch {
      return UNREADABLE;
    }
  }

  private drop(): undefined {
    this.dropped ??= this.path.join('.');
  }
}

/** The bytes of a Blob cannot be read at once, and those of a detached buffer are gone. */
function hasBytes(value: object): boolean {
  if (value instanceof Blob) return false;
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  try {
    return Boolean(new Uint8Array(buffer as ArrayBuffer));
  } catch {
    return false;
  }
}

function isBinary(value: object): boolean {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof Blob;
}
