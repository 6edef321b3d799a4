import { bufferOver } from '../../base/bytes.js';
import { GjallarError } from '../../base/errors.js';
import { placesOfAttachments } from '../../engine/parser/socket-io-parser.js';

/** The largest encoded value of a key, in bytes. */
export const MAX_VALUE_BYTES = 1_000_000;
/** The largest encoded value that a patch changes, before and after it, in bytes: `set()` sets larger ones. */
export const MAX_PATCH_BYTES = 65_536;

/** A value as it is kept and sent: its JSON, or bytes. */
export type Encoded = string | Buffer;

/**
 * Encodes a value once, for all clients and workers.
 * @throws GjallarError BAD_STATE_VALUE
 */
export function encodeValue(value: unknown): Encoded {
  // A copy: the application may reuse its buffer.
  const bytes = bufferOver(value);
  if (bytes) return Buffer.from(bytes);
  let text: string | undefined;
  let isMixed: boolean;
  try {
    text = JSON.stringify(value);
    isMixed = hasBytes(value);
  } catch (error) {
    const reason = error instanceof RangeError ? 'it is nested too deeply' : (error as Error).message;
    throw new GjallarError('BAD_STATE_VALUE', `The value is not JSON: ${reason}. Set JSON or bytes.`);
  }
  if (text === undefined) throw new GjallarError('BAD_STATE_VALUE');
  if (placesOfAttachments(text) > 0) {
    throw new GjallarError(
      'BAD_STATE_VALUE',
      'The value has a property "_placeholder", which Socket.IO takes for the place of bytes. Rename it.',
    );
  }
  if (isMixed) {
    throw new GjallarError(
      'BAD_STATE_VALUE',
      'The value has bytes inside of JSON, which would arrive as something else. Set the bytes under a key of their own.',
    );
  }
  return text;
}

/** @param value what JSON.stringify() has accepted, so it has an end */
function hasBytes(value: unknown, isConverted = false): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (bufferOver(value) || value instanceof Blob) return true;
  const { toJSON } = value as { toJSON?: unknown };
  if (!isConverted && typeof toJSON === 'function') return hasBytes(toJSON.call(value), true);
  for (const one of Array.isArray(value) ? value : Object.values(value)) if (hasBytes(one)) return true;
  return false;
}

/** A new copy of the value. */
export function decodeValue(encoded: Encoded): unknown {
  return typeof encoded === 'string' ? JSON.parse(encoded) : Buffer.from(encoded);
}

/**
 * The last patch of this process: the sequencer may repeat what a worker has just done, and the next patch is often one of the
 * same value. `content` is `value` decoded.
 */
let last: { before: Encoded | undefined; fields: Encoded; value: string; content: object } | undefined;

/**
 * A value with some fields changed, as in RFC 7396: null deletes a field, and objects inside are changed in the same way.
 * @param fields encoded
 * @returns the encoded value, or the code of an error
 */
export function patchedValue(
  before: Encoded | undefined,
  fields: Encoded,
): { readonly value: string } | 'BAD_STATE_VALUE' | 'STATE_PATCH_SIZE' {
  // A short request must not have a worker read and write a value of a megabyte.
  if (before !== undefined && Buffer.byteLength(before) > MAX_PATCH_BYTES) return 'STATE_PATCH_SIZE';
  try {
    if (!last || before !== last.before || fields !== last.fields) {
      const content = before === undefined ? {} : before === last?.value ? last.content : decodeValue(before);
      const changes = decodeValue(fields);
      last = undefined;
      if (!isRecord(content) || !isRecord(changes)) return 'BAD_STATE_VALUE';
      last = { before, fields, content, value: JSON.stringify(withFields(content, changes)) };
    }
    return Buffer.byteLength(last.value) > MAX_PATCH_BYTES ? 'STATE_PATCH_SIZE' : last;
  } catch {
    // It is nested too deeply.
    return 'BAD_STATE_VALUE';
  }
}

/** @param value may be changed */
function withFields(value: unknown, changes: unknown): unknown {
  if (!isRecord(changes)) return changes;
  const fields = isRecord(value) ? value : {};
  for (const [name, change] of Object.entries(changes)) {
    const value = isRecord(change)
      ? withFields(Object.hasOwn(fields, name) ? fields[name] : undefined, change)
      : change;
    if (value === null) delete fields[name];
    // An assignment costs a fraction of a definition, but would set the prototype.
    else if (name === '__proto__') Object.defineProperty(fields, name, { ...OWN, value });
    else fields[name] = value;
  }
  return fields;
}

const OWN = { configurable: true, enumerable: true, writable: true };

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
}
