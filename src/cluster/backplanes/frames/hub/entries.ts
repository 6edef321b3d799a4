import { MalformedMessage } from '../../../../base/errors.js';
import { endOf, HEADER, messageOf, numbersMessage, types } from '../wire/message.js';

/**
 * What a worker, the hub of its machine and the hubs of other machines exchange. A hub forwards the bytes of an entry as they
 * are, and reads no more of them than whom they are for.
 *
 * ```
 * entry:    kind (1) │ part (1) │ number of the worker that sends it (4) │ addressees │ message
 * addressees of
 *   hub, all, service: nothing
 *   rooms:  count (2), room keys (4 each)
 *   worker: number (4), machine (8)
 * ```
 * Integers are little endian. The part is the number of the Socket.IO server, or of the engine, within its worker. Several
 * entries follow each other, behind a head that the carrier adds.
 */
export const entryKinds = {
  /** For the hub that receives it, or, from the hub, for the worker itself. */
  hub: 0,
  /** For all workers of other machines. */
  all: 1,
  /** For those that have members of one of the rooms. */
  rooms: 2,
  /** For one worker. */
  worker: 3,
  /** For or from a service of a hub, whose number stands for the part. */
  service: 4,
} as const;

/** Types of messages besides those between workers. */
export const hubTypes = {
  /** Workers of the machine of the frame are there: their numbers. */
  here: 32,
  /** Workers are gone. */
  gone: 33,
  /** The state of the hub, as JSON. */
  status: 34,
  /** A message of the relay. */
  relay: 35,
  /** A message for or from a service. */
  service: 36,
} as const;

/** The length of the id of a machine. */
export const MACHINE = 8;
/** What stands for the machine where there is none. */
export const NO_MACHINE = '\0'.repeat(MACHINE);

const COMMON = 6;

/** An entry for workers. @param keys the rooms that it is for; undefined if it is for all */
export function headOf(part: number, sender: number, keys: readonly number[] | undefined): Buffer {
  if (!keys) return common(Buffer.allocUnsafe(COMMON), entryKinds.all, part, sender);
  const head = common(Buffer.allocUnsafe(COMMON + 2 + 4 * keys.length), entryKinds.rooms, part, sender);
  let at = head.writeUInt16LE(keys.length, COMMON);
  for (const key of keys) at = head.writeUInt32LE(key, at);
  return head;
}

/** The head of an entry between a worker and its hub. */
export function hubHead(part: number, sender: number): Buffer {
  return common(Buffer.allocUnsafe(COMMON), entryKinds.hub, part, sender);
}

/** The head of an entry for one worker of another machine. */
export function workerHead(part: number, sender: number, to: number, machine: string): Buffer {
  const head = common(Buffer.allocUnsafe(COMMON + 4 + MACHINE), entryKinds.worker, part, sender);
  head.write(machine, head.writeUInt32LE(to, COMMON), 'latin1');
  return head;
}

function common(head: Buffer, kind: number, part: number, sender: number): Buffer {
  head[0] = kind;
  head[1] = part;
  head.writeUInt32LE(sender, 2);
  return head;
}

/** Numbers for the hub, or from it. */
export function hubNumbers(type: number, numbers: Iterable<number>, part = 0, sender = 0): Buffer {
  return Buffer.concat([hubHead(part, sender), numbersMessage(type, numbers)]);
}

/** A message for or from a service of a hub. */
export function serviceEntry(service: number, message: Uint8Array, sender = 0): Buffer {
  const head = common(Buffer.allocUnsafe(COMMON), entryKinds.service, service, sender);
  return Buffer.concat([head, messageOf(hubTypes.service, message)]);
}

/** Reads entries one after the other, without copying. */
export class EntryReader {
  kind = 0;
  part = 0;
  sender = 0;
  /** Where the entry starts, its message, and its end. */
  start = 0;
  message = 0;
  end: number;

  constructor(
    readonly bytes: Buffer,
    at: number,
  ) {
    this.end = at;
  }

  /**
   * Goes to the next entry.
   * @returns false if there is none
   * @throws MalformedMessage
   */
  next(): boolean {
    const { bytes } = this;
    const start = this.end;
    if (start === bytes.length) return false;
    if (start + COMMON > bytes.length) throw new MalformedMessage('an entry ends within its head');
    this.start = start;
    this.kind = bytes[start]!;
    this.part = bytes[start + 1]!;
    this.sender = bytes.readUInt32LE(start + 2);
    this.message = start + COMMON + this.addressees(start + COMMON);
    this.end = endOf(bytes, this.message);
    return true;
  }

  get type(): number {
    return this.bytes[this.message + 4]!;
  }

  get body(): Buffer {
    return this.bytes.subarray(this.message + HEADER, this.end);
  }

  /** The whole entry. */
  get entry(): Buffer {
    return this.bytes.subarray(this.start, this.end);
  }

  /** Whether an application has sent the message. */
  get isCounted(): boolean {
    return this.type <= types.cluster;
  }

  get keys(): number[] {
    const keys: number[] = [];
    for (let at = this.start + COMMON + 2; at < this.message; at += 4) keys.push(this.bytes.readUInt32LE(at));
    return keys;
  }

  /** The worker that the entry is for: its number, and its machine. */
  get receiver(): { worker: number; machine: string } {
    const at = this.start + COMMON;
    return { worker: this.bytes.readUInt32LE(at), machine: this.bytes.toString('latin1', at + 4, at + 4 + MACHINE) };
  }

  private addressees(at: number): number {
    switch (this.kind) {
      case entryKinds.hub:
      case entryKinds.all:
      case entryKinds.service:
        return 0;
      case entryKinds.rooms:
        if (at + 2 > this.bytes.length) break;
        return 2 + 4 * this.bytes.readUInt16LE(at);
      case entryKinds.worker:
        return 4 + MACHINE;
    }
    throw new MalformedMessage('an entry has an unknown kind');
  }
}

/** Collects entries for one destination. Those that follow each other in the same bytes are one piece. */
export class Outgoing {
  /** How many of the messages applications have sent. */
  messages = 0;
  bytes = 0;
  private pieces: Buffer[] = [];
  private source: Buffer | undefined;
  private from = 0;
  private to = 0;

  get isEmpty(): boolean {
    return this.bytes === 0;
  }

  /** The entry that the reader is at. */
  add(reader: EntryReader): void {
    const { bytes, start, end } = reader;
    if (this.source !== bytes || this.to !== start) {
      this.cut();
      this.source = bytes;
      this.from = start;
    }
    this.to = end;
    this.bytes += end - start;
    if (reader.isCounted) this.messages++;
  }

  addBytes(entry: Buffer): void {
    this.cut();
    this.pieces.push(entry);
    this.bytes += entry.length;
  }

  /** Everything, behind a head. */
  take(head: Buffer): Buffer {
    this.cut();
    const { pieces } = this;
    this.pieces = [];
    this.bytes = 0;
    this.messages = 0;
    return Buffer.concat([head, ...pieces]);
  }

  private cut(): void {
    if (this.source) this.pieces.push(this.source.subarray(this.from, this.to));
    this.source = undefined;
  }
}
