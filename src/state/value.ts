import { GjallarError } from '../errors.js';

/** A value as it is kept and sent: its JSON, or bytes. */
export type Encoded = string | Buffer;

/**
 * Encodes a value once, for all clients and workers.
 * @throws GjallarError BAD_STATE_VALUE
 */
export function encodeValue(value: unknown): Encoded {
  // A copy: the application may reuse its buffer.
  if (value instanceof Uint8Array) return Buffer.from(value);
  if (value instanceof ArrayBuffer) return Buffer.from(new Uint8Array(value));
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw new GjallarError('BAD_STATE_VALUE', `The value is not JSON: ${(error as Error).message}. Set JSON or bytes.`);
  }
  if (text === undefined) throw new GjallarError('BAD_STATE_VALUE');
  return text;
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
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}
