import { MalformedMessage } from '../../../../errors.js';
import { WORKER_NAME } from '../../../../worker-links.js';
import { endOf, HEADER, types } from '../wire/message.js';

/**
 * What one worker has for the workers of another machine. A message that is for several of them is in it once.
 *
 * ```
 * frame: version (1) │ length of the sender's id (1), id │ entries
 * entry: count (1), worker numbers (4 each, little endian) │ message
 * ```
 */
const VERSION = 1;
/** More workers of a machine get a message in an entry of their own. */
const MAX_WORKERS = 255;

/** The machine of the worker with this name. */
export const machineOf = (name: string): string => name.slice(name.indexOf('.') + 1);

/** The number of the worker with this name. */
export const numberOf = (name: string): number => Number.parseInt(name, 10);

/** Collects the entries of a frame. */
export class MachineFrameWriter {
  private readonly head: Buffer;
  private entries: { workers: number[]; message: Buffer }[] = [];

  constructor(sender: string) {
    this.head = Buffer.concat([Buffer.of(VERSION, sender.length), Buffer.from(sender, 'latin1')]);
  }

  add(worker: number, message: Buffer): void {
    const last = this.entries.at(-1);
    if (last?.message === message && last.workers.length < MAX_WORKERS) last.workers.push(worker);
    else this.entries.push({ workers: [worker], message });
  }

  /** The frame, and how many of its messages applications have sent. */
  take(): { frame: Buffer; messages: number } {
    const { entries } = this;
    this.entries = [];
    const parts = [this.head];
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
}

/** @throws MalformedMessage if it is no frame */
export function senderOf(frame: Buffer): { sender: string; at: number } {
  const at = 2 + (frame[1] ?? 0);
  if (frame[0] !== VERSION || frame.length < at) throw new MalformedMessage('a frame has an unknown version');
  const sender = frame.toString('latin1', 2, at);
  if (WORKER_NAME.exec(sender)?.[0] !== sender) throw new MalformedMessage('a frame must name its sender');
  return { sender, at };
}

/** Hands on the messages of a frame, from `at` on, that are for a worker. */
export function readEntries(
  frame: Buffer,
  start: number,
  worker: number,
  onMessage: (type: number, body: Buffer) => void,
): void {
  let at = start;
  while (at < frame.length) {
    const message = at + 1 + 4 * frame[at]!;
    const end = endOf(frame, message);
    for (let addressee = at + 1; addressee < message; addressee += 4) {
      if (frame.readUInt32LE(addressee) !== worker) continue;
      onMessage(frame[message + 4]!, frame.subarray(message + HEADER, end));
      break;
    }
    at = end;
  }
}
