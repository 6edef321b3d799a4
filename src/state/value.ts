import { bufferOver } from '../base/bytes.js';
import { placesOfAttachments } from '../compat/socket-io-parser.js';
import { GjallarError } from '../errors.js';

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

/**
 * @param value what JSON.stringify() has accepted, so it has an end
 * @throws Error if it has an infinite number, as JSON.parse() makes it of 1e999
 */
function hasBytes(value: unknown, isConverted = false): boolean {
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) {
    throw new Error('it has a number that is infinite, or too large, and would become null');
  }
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
 * A value with some fields changed.
 * @throws GjallarError BAD_STATE_VALUE if either is not an object
 */
export function merged(encoded: Encoded | undefined, fields: unknown): unknown {
  const value = encoded === undefined ? {} : typeof encoded === 'string' ? JSON.parse(encoded) : encoded;
  if (!isRecord(value) || !isRecord(fields)) {
    throw new GjallarError('BAD_STATE_VALUE', 'patch() changes fields of an object. Use set() for any other value.');
  }
  return { ...value, ...fields };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !bufferOver(value);
}
