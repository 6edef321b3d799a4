import { bufferOver } from '../base/bytes.js';
import type { Writable } from '../sockets.js';

const NOTHING = new ArrayBuffer(0);

/**
 * The bytes as they are, without a copy where possible.
 * @throws TypeError as uWebSockets.js does, for what is neither text nor bytes
 */
export function viewOf(value: Writable): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : bufferOver(value);
  if (bytes) return bytes;
  throw new TypeError('Text and data can only be passed by String, ArrayBuffer or TypedArray.');
}

/** Bytes that stay as they are: uWebSockets.js copies what it is given, and callers use their memory again. */
export function bytesOf(value: Writable): Buffer {
  return typeof value === 'string' ? Buffer.from(value) : Buffer.from(viewOf(value));
}

export const textOf = (value: Writable): string =>
  typeof value === 'string' ? value : viewOf(value).toString('latin1');

/** A copy, because Node.js keeps small buffers in memory that they share. */
export const arrayBufferOf = ({ buffer, byteOffset, byteLength }: Buffer): ArrayBuffer =>
  buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;

/** An IP address as 4 or 16 bytes; empty if the client has gone. */
export function packed(address: string | undefined): ArrayBuffer {
  if (!address) return NOTHING;
  if (!address.includes(':')) return new Uint8Array(address.split('.').map(Number)).buffer;
  return new Uint8Array(groupsOf(address).flatMap((group) => [group >> 8, group & 0xff])).buffer;
}

/** The eight groups of an IPv6 address. Source: RFC 4291, section 2.2. */
function groupsOf(address: string): number[] {
  const [plain = ''] = address.split('%');
  const [head = '', tail] = plain.split('::');
  const before = wordsOf(head);
  if (tail === undefined) return before;
  const after = wordsOf(tail);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function wordsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}
