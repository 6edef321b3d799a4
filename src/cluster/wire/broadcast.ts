import { MalformedMessage } from '../../base/errors.js';
import type { EncodedPackets } from '../../io/rooms/index.js';
import { type Head, lengthOf, writeHead } from './envelope.js';

/** A broadcast as workers exchange it: already encoded for the clients. */
export interface Broadcast {
  nsp: string;
  /** PacketType of socket.io-parser. */
  packetType: number;
  /** Their names, see `base/names.ts`. */
  rooms: string[];
  except: string[];
  flags: object;
  encoded: EncodedPackets;
}

/**
 * The body of a broadcast. Numbers are little endian; a text is its length (4 bytes), then UTF-8.
 *
 * ```
 * packet type (1) │ nsp: text │ flags as JSON: text │ rooms: count (4), texts │ except: count (4), texts
 * │ packets: count (4), each: 0 text, or 1 length (4) and bytes
 * ```
 */
const NO_FLAGS = '{}';
/** No character takes more bytes in UTF-8. */
const MAX_CHARACTER_BYTES = 3;

let scratch = Buffer.allocUnsafeSlow(64 * 1024);
let at = 0;

/** An envelope with a broadcast, from one encoding. */
export function encodeBroadcast({ nsp, packetType, rooms, except, flags, encoded }: Broadcast, head: Head): Buffer {
  const flagsText = flagsOf(flags);
  const bodyAt = lengthOf(head);
  reserve(bodyAt + sizeOf(nsp, flagsText, encoded, rooms, except));
  at = bodyAt;
  scratch[at++] = packetType;
  putText(nsp);
  putText(flagsText);
  putRooms(rooms);
  putRooms(except);
  putNumber(encoded.length);
  for (const packet of encoded) {
    scratch[at++] = typeof packet === 'string' ? 0 : 1;
    if (typeof packet === 'string') putText(packet);
    else putBytes(packet);
  }
  writeHead(scratch, head, at);
  return Buffer.from(scratch.subarray(0, at));
}

function flagsOf(flags: object): string {
  for (const _ in flags) return JSON.stringify(flags);
  return NO_FLAGS;
}

function sizeOf(...parts: (string | readonly (string | Buffer)[])[]): number {
  let size = 64;
  for (const part of parts) {
    if (typeof part === 'string') size += part.length * MAX_CHARACTER_BYTES;
    else for (const one of part) size += 8 + one.length * MAX_CHARACTER_BYTES;
  }
  return size;
}

function reserve(size: number): void {
  if (size > scratch.length) scratch = Buffer.allocUnsafeSlow(size);
}

function putNumber(value: number): void {
  at = scratch.writeUInt32LE(value, at);
}

function putText(text: string): void {
  const length = scratch.write(text, at + 4, 'utf8');
  scratch.writeUInt32LE(length, at);
  at += 4 + length;
}

function putBytes(bytes: Uint8Array): void {
  putNumber(bytes.length);
  scratch.set(bytes, at);
  at += bytes.length;
}

function putRooms(rooms: readonly string[]): void {
  putNumber(rooms.length);
  for (const room of rooms) putText(room);
}

/** @throws Error if the bytes are malformed */
export function decodeBroadcast(bytes: Buffer): Broadcast {
  const reader = new Reader(bytes);
  const packetType = reader.byte();
  const nsp = reader.text();
  const flagsText = reader.text();
  const flags = flagsText === NO_FLAGS ? {} : (JSON.parse(flagsText) as object);
  if (typeof flags !== 'object' || flags === null) throw new MalformedMessage('the flags must be an object');
  const rooms = reader.rooms();
  const except = reader.rooms();
  const encoded: EncodedPackets = [];
  for (let left = reader.number(); left > 0; left--) encoded.push(reader.byte() === 0 ? reader.text() : reader.bytes());
  reader.expectEnd();
  return { packetType, nsp, flags, rooms, except, encoded };
}

class Reader {
  private at = 0;

  constructor(private readonly buffer: Buffer) {}

  byte(): number {
    return this.buffer.readUInt8(this.at++);
  }

  number(): number {
    const value = this.buffer.readUInt32LE(this.at);
    this.at += 4;
    return value;
  }

  text(): string {
    const [start, end] = this.span();
    return this.buffer.toString('utf8', start, end);
  }

  bytes(): Buffer {
    return this.buffer.subarray(...this.span());
  }

  rooms(): string[] {
    const rooms: string[] = [];
    for (let left = this.number(); left > 0; left--) rooms.push(this.text());
    return rooms;
  }

  expectEnd(): void {
    if (this.at !== this.buffer.length) throw new MalformedMessage('a broadcast has bytes behind its end');
  }

  private span(): [start: number, end: number] {
    const length = this.number();
    const start = this.at;
    this.at += length;
    if (this.at > this.buffer.length) throw new MalformedMessage('a broadcast ends too early');
    return [start, this.at];
  }
}
