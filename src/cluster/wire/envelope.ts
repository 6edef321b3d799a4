import { MalformedMessage } from '../../base/errors.js';

/**
 * All that workers and hubs send to each other, and what emitters send to them, is in envelopes. A hub passes on the bytes of an
 * envelope as they are, and reads no more of them than whom they are for.
 *
 * ```
 * length of the rest (4) │ addressee (1) │ type (1) │ part (1) │ sender: number (4), machine (8) │ addressees │ body
 * addressees of
 *   peer, all: nothing
 *   rooms:  count (2), room keys (4 each)
 *   worker: number (4), machine (8)
 * ```
 * Integers are little endian. The part is the number of the Socket.IO server or of the engine within its worker, or that of the service
 * of a hub. A hub has the number 0.
 */
export const addressees = {
  /** For whoever is at the other end of the link. */
  peer: 0,
  /** For all workers: a hub passes it on to all others. */
  all: 1,
  /** For those that have members of one of the rooms. */
  rooms: 2,
  /** For one worker of another machine. */
  worker: 3,
} as const;

/** The largest number of a part. */
export const MAX_PART = 255;

/** The length of the id of a machine. */
export const MACHINE = 8;
/** The machine of emitters, which are on none. */
export const NOWHERE = '-'.repeat(MACHINE);

const TYPE = 5;
const PART = 6;
const SENDER = 7;
/** The length of what every envelope begins with. */
const HEAD = SENDER + 4 + MACHINE;

/** Who sends, as bytes. */
export type Sender = Uint8Array;

export function senderOf(number: number, machine: string): Sender {
  const bytes = Buffer.alloc(HEAD - SENDER);
  bytes.write(machine, bytes.writeUInt32LE(number), 'latin1');
  return bytes;
}

/** Whom an envelope is for: whoever is at the other end of the link if it is undefined. */
export type Addressee = 'all' | readonly number[] | { readonly worker: number; readonly machine: string } | undefined;

const isKeys = (to: object): to is readonly number[] => Array.isArray(to);

/** What is before the body of an envelope. */
export interface Head {
  readonly type: number;
  readonly part: number;
  readonly from: Sender;
  readonly to?: Addressee;
}

/** The length of a head. */
export function lengthOf({ to }: Head): number {
  if (to === undefined || to === 'all') return HEAD;
  return HEAD + (isKeys(to) ? 2 + 4 * to.length : 4 + MACHINE);
}

/** Writes a head at the beginning of an envelope with `length` bytes. Returns where the body begins. */
export function writeHead(bytes: Buffer, { type, part, from, to }: Head, length: number): number {
  bytes.writeUInt32LE(length - 4, 0);
  bytes[TYPE] = type;
  bytes[PART] = part;
  // Faster than set() for a few bytes.
  for (let index = 0; index < HEAD - SENDER; index++) bytes[SENDER + index] = from[index]!;
  if (to === undefined) bytes[4] = addressees.peer;
  else if (to === 'all') bytes[4] = addressees.all;
  else if (isKeys(to)) {
    bytes[4] = addressees.rooms;
    let at = bytes.writeUInt16LE(to.length, HEAD);
    for (let index = 0; index < to.length; index++) at = bytes.writeUInt32LE(to[index]!, at);
    return at;
  } else {
    bytes[4] = addressees.worker;
    return HEAD + 4 + bytes.write(to.machine, bytes.writeUInt32LE(to.worker, HEAD), MACHINE, 'latin1');
  }
  return HEAD;
}

/** An envelope with a body. */
export function pack(head: Head, ...body: readonly (string | Uint8Array)[]): Buffer {
  let length = lengthOf(head);
  for (const piece of body) length += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;
  const bytes = Buffer.allocUnsafe(length);
  let at = writeHead(bytes, head, length);
  for (const piece of body) {
    if (typeof piece === 'string') at += bytes.write(piece, at);
    else {
      bytes.set(piece, at);
      at += piece.length;
    }
  }
  return bytes;
}

/** The type of an envelope. */
export const typeOf = (envelope: Buffer): number => envelope[TYPE]!;

/** A body of numbers of 32 bits. */
export function numbers(all: Iterable<number>): Uint8Array {
  const list = [...all];
  // Without a buffer of their own, which costs more than writing a few numbers.
  const bytes = Buffer.allocUnsafe(4 * list.length);
  for (let index = 0; index < list.length; index++) bytes.writeInt32LE(list[index]! | 0, 4 * index);
  return bytes;
}

/** @throws MalformedMessage if the body does not consist of numbers */
export function numbersOf(body: Buffer): number[] {
  if (body.length % 4 !== 0) throw new MalformedMessage('the numbers of a message are incomplete');
  const all: number[] = [];
  for (let at = 0; at < body.length; at += 4) all.push(body.readInt32LE(at));
  return all;
}

/** Reads envelopes that follow each other, without copying. */
export class Envelope {
  /** Where it starts, its body, and its end. */
  start = 0;
  private bodyAt = 0;
  end: number;

  constructor(
    readonly bytes: Buffer,
    at = 0,
  ) {
    this.end = at;
  }

  /** A reader that is at the first of some bytes. */
  static of(bytes: Buffer): Envelope {
    const envelope = new Envelope(bytes);
    envelope.next();
    return envelope;
  }

  /**
   * Goes to the next envelope.
   * @returns false if no further one is complete
   * @throws MalformedMessage if it is not well-formed; the next call goes on behind it
   */
  next(): boolean {
    const { bytes, end: start } = this;
    if (bytes.length - start < 4) return false;
    const end = start + 4 + bytes.readUInt32LE(start);
    if (end > bytes.length) return false;
    this.start = start;
    this.end = end;
    const isTooShort = end < start + HEAD;
    this.bodyAt = isTooShort ? end : start + HEAD + this.addressees(start + HEAD);
    if (isTooShort || !(this.bodyAt <= end)) throw new MalformedMessage('an envelope is incomplete');
    return true;
  }

  /** @throws MalformedMessage if there are bytes behind the last envelope */
  expectEnd(): void {
    if (this.end !== this.bytes.length) throw new MalformedMessage('a frame ends within an envelope');
  }

  get addressee(): number {
    return this.bytes[this.start + 4]!;
  }

  get type(): number {
    return this.bytes[this.start + TYPE]!;
  }

  get part(): number {
    return this.bytes[this.start + PART]!;
  }

  set part(part: number) {
    this.bytes[this.start + PART] = part;
  }

  /** The number of the sender, and its machine. */
  get sender(): number {
    return this.bytes.readUInt32LE(this.start + SENDER);
  }

  get machine(): string {
    return this.bytes.toString('latin1', this.start + SENDER + 4, this.start + HEAD);
  }

  get keys(): number[] {
    const keys: number[] = [];
    for (let at = this.start + HEAD + 2; at < this.bodyAt; at += 4) keys.push(this.bytes.readUInt32LE(at));
    return keys;
  }

  /** The worker that it is for. */
  get receiver(): { readonly worker: number; readonly machine: string } {
    const at = this.start + HEAD;
    return { worker: this.bytes.readUInt32LE(at), machine: this.bytes.toString('latin1', at + 4, at + 4 + MACHINE) };
  }

  get body(): Buffer {
    return this.bytes.subarray(this.bodyAt, this.end);
  }

  /** All of it. */
  get whole(): Buffer {
    return this.bytes.subarray(this.start, this.end);
  }

  private addressees(at: number): number {
    switch (this.addressee) {
      case addressees.peer:
      case addressees.all:
        return 0;
      case addressees.rooms:
        return at + 2 > this.end ? Number.NaN : 2 + 4 * this.bytes.readUInt16LE(at);
      case addressees.worker:
        return 4 + MACHINE;
      default:
        return Number.NaN;
    }
  }
}

/** An envelope for some rooms as one for all workers. */
export function forAll(envelope: Buffer): Buffer {
  const { type, part, body } = Envelope.of(envelope);
  return pack({ type, part, from: envelope.subarray(SENDER, HEAD), to: 'all' }, body);
}
