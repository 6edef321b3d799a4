import { WORKER_NAME } from '../../../base/worker-links.js';
import { MalformedMessage } from '../../../errors.js';
import { endOf, HEADER, types } from '../wire/message.js';

/**
 * What one worker has for the workers of another machine. A message that is for several of them is in it once.
 *
 * ```
 * frame:     version (1) │ length of the sender's id (1), id │ number (6) │ count (2), addressees │ entries
 * addressee: worker number (4) │ how far back the last frame for this worker is (4), 0 if there is none
 * entry:     count (1), worker numbers (4 each) │ message
 * ```
 * Integers are little endian. A sender numbers its frames to a machine from 1 on. A frame can reach a worker on two ways,
 * so a worker needs the numbers to handle each frame once and in order.
 */
export const VERSION = 3;
/** More workers of a machine get a message in an entry of their own. */
const MAX_WORKERS = 255;
const NUMBER = 6;
const ADDRESSEE = 8;
const MAX_DISTANCE = 2 ** 32 - 1;

/** The machine of the worker with this name. */
export const machineOf = (name: string): string => name.slice(name.indexOf('.') + 1);

/** The number of the worker with this name. */
export const numberOf = (name: string): number => Number.parseInt(name, 10);

/** Collects the entries of a frame. */
export class MachineFrameWriter {
  private readonly head: Buffer;
  private entries: { workers: number[]; message: Buffer }[] = [];
  private addressees = new Set<number>();
  private number = 0;
  /** The number of the last frame for each worker. */
  private readonly last = new Map<number, number>();

  constructor(sender: string) {
    this.head = Buffer.concat([Buffer.of(VERSION, sender.length), Buffer.from(sender, 'latin1')]);
  }

  add(worker: number, message: Buffer): void {
    this.addressees.add(worker);
    const last = this.entries.at(-1);
    if (last?.message === message && last.workers.length < MAX_WORKERS) last.workers.push(worker);
    else this.entries.push({ workers: [worker], message });
  }

  /** The frame, and how many of its messages applications have sent. */
  take(): { frame: Buffer; messages: number } {
    const { entries } = this;
    const parts = [this.head, this.takeNumbers()];
    this.entries = [];
    let messages = 0;
    for (const { workers, message } of entries) {
      const addressees = Buffer.allocUnsafe(1 + 4 * workers.length);
      addressees[0] = workers.length;
      for (const [index, worker] of workers.entries()) addressees.writeUInt32LE(worker, 1 + 4 * index);
      parts.push(addressees, message);
      if (message[4]! <= types.cluster) messages++;
    }
    return { frame: Buffer.concat(parts), messages };
  }

  /** Frames were lost. The workers do not wait for them. */
  restart(): void {
    this.last.clear();
  }

  /** The worker is gone. */
  forget(worker: number): void {
    this.last.delete(worker);
  }

  private takeNumbers(): Buffer {
    const { addressees, last } = this;
    this.addressees = new Set();
    const number = ++this.number;
    const bytes = Buffer.allocUnsafe(NUMBER + 2 + ADDRESSEE * addressees.size);
    bytes.writeUIntLE(number, 0, NUMBER);
    let at = bytes.writeUInt16LE(addressees.size, NUMBER);
    for (const worker of addressees) {
      const distance = number - (last.get(worker) ?? number);
      at = bytes.writeUInt32LE(worker, at);
      at = bytes.writeUInt32LE(distance > MAX_DISTANCE ? 0 : distance, at);
      last.set(worker, number);
    }
    return bytes;
  }
}

/** A frame that has arrived. */
export interface MachineFrame {
  readonly bytes: Buffer;
  readonly sender: string;
  readonly number: number;
  /** The workers that it has messages for. */
  readonly addressees: readonly number[];
  /** Where its entries begin. */
  readonly at: number;
}

/** @throws MalformedMessage if it is no frame */
export function openFrame(bytes: Buffer): MachineFrame {
  const [version, length = 0] = bytes;
  const numbers = 2 + length;
  if (version !== VERSION) {
    throw new MalformedMessage(
      `a frame has the version ${version}, and this server reads version ${VERSION}: run the same version on all machines`,
    );
  }
  const start = numbers + NUMBER + 2;
  const at = start <= bytes.length ? start + ADDRESSEE * bytes.readUInt16LE(numbers + NUMBER) : start;
  if (at > bytes.length) throw new MalformedMessage('a frame ends within its addressees');
  const sender = bytes.toString('latin1', 2, numbers);
  if (WORKER_NAME.exec(sender)?.[0] !== sender) throw new MalformedMessage('a frame must name its sender');
  const number = bytes.readUIntLE(numbers, NUMBER);
  if (number === 0) throw new MalformedMessage('a frame has no number');
  const addressees: number[] = [];
  for (let each = start; each < at; each += ADDRESSEE) addressees.push(bytes.readUInt32LE(each));
  return { bytes, sender, number, addressees, at };
}

/** The number of the frame that a worker has got before this one; 0 if there is none that it must wait for. */
export function numberBefore({ bytes, number, addressees, at }: MachineFrame, worker: number): number {
  const index = addressees.indexOf(worker);
  const distance = bytes.readUInt32LE(at - ADDRESSEE * (addressees.length - index) + 4);
  return distance === 0 ? 0 : number - distance;
}

/** Hands on the messages of a frame that are for a worker. */
export function readEntries(
  { bytes, at: start }: MachineFrame,
  worker: number,
  onMessage: (type: number, body: Buffer) => void,
): void {
  let at = start;
  while (at < bytes.length) {
    const message = at + 1 + 4 * bytes[at]!;
    const end = endOf(bytes, message);
    for (let addressee = at + 1; addressee < message; addressee += 4) {
      if (bytes.readUInt32LE(addressee) !== worker) continue;
      onMessage(bytes[message + 4]!, bytes.subarray(message + HEADER, end));
      break;
    }
    at = end;
  }
}
