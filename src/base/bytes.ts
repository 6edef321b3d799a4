import { isArrayBuffer } from 'node:util/types';
import { GjallarError } from './errors.js';

/** A Buffer over the bytes of a view or an ArrayBuffer, without a copy; undefined for any other value. */
export function bufferOver(value: ArrayBuffer | ArrayBufferView): Buffer;
export function bufferOver(value: unknown): Buffer | undefined;
export function bufferOver(value: unknown): Buffer | undefined {
  if (Buffer.isBuffer(value)) return value;
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return isArrayBuffer(value) ? Buffer.from(value) : undefined;
}

/**
 * The parts of an encoded packet as they are sent. Texts and Buffers, which nearly all parts are, stay as they are.
 * @throws GjallarError BAD_INPUT for a Blob or a File: reading it takes time, and a packet leaves in the turn that sends it
 */
export function asTextOrBytes(parts: unknown[]): (string | Buffer)[] {
  for (const part of parts) if (typeof part !== 'string' && !Buffer.isBuffer(part)) return parts.map(partAsBytes);
  return parts as (string | Buffer)[];
}

function partAsBytes(part: unknown): string | Buffer {
  const sent = typeof part === 'string' ? part : bufferOver(part);
  if (sent !== undefined) return sent;
  const kind = Object.prototype.toString.call(part).slice(8, -1);
  throw new GjallarError(
    'BAD_INPUT',
    `A ${kind} cannot be sent, because its bytes cannot be read at once. Emit its bytes: await value.arrayBuffer().`,
  );
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Whether a text has characters that no name, header or line may contain. */
export function hasControlCharacters(text: string): boolean {
  return CONTROL.test(text);
}
