/**
 * What is published on NATS. A server accepts messages of 1 MB by default (`max_payload`), so a longer one is split.
 *
 * ```
 * whole: 0 (1) │ message
 * part:  1 (1) │ number of the message (4) │ index (2) │ count (2) │ part of the message
 * probe: 2 (1)   tries whether the server allows to publish; receivers ignore it
 * ```
 * Numbers are little endian. All parts of a message follow each other on the same connection.
 */
const kinds = { whole: 0, part: 1, probe: 2 } as const;
const PART_HEADER = 9;
const MAX_PARTS = 0xffff;
const MAX_NUMBER = 2 ** 32;
/** Bytes of incomplete messages that a receiver keeps. When there are more, it drops the oldest message. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

export const PROBE = Buffer.of(kinds.probe);

/**
 * Splits a message into payloads.
 * @param number a number that no other sender is likely to use at the same time
 * @param maxPayload the longest payload that the server accepts, in bytes
 * @returns undefined if the message is too long even so
 */
export function splitMessage(message: Buffer, number: number, maxPayload: number): Buffer[] | undefined {
  if (message.length < maxPayload) return [Buffer.concat([Buffer.of(kinds.whole), message])];
  const size = maxPayload - PART_HEADER;
  const count = Math.ceil(message.length / size);
  if (size <= 0 || count > MAX_PARTS || message.length > MAX_KEPT_BYTES) return undefined;
  return Array.from({ length: count }, (_, index) => {
    const header = Buffer.alloc(PART_HEADER);
    header[0] = kinds.part;
    header.writeUInt32LE(number % MAX_NUMBER, 1);
    header.writeUInt16LE(index, 5);
    header.writeUInt16LE(count, 7);
    return Buffer.concat([header, message.subarray(index * size, (index + 1) * size)]);
  });
}

interface Incomplete {
  parts: Buffer[];
  count: number;
  bytes: number;
}

/** Puts the parts of messages together. */
export class PartReader {
  private readonly incomplete = new Map<number, Incomplete>();
  private bytes = 0;

  /**
   * Reads a payload.
   * @returns the message that is complete with it, if any
   * @throws Error if it is none, or if a part before it is missing
   */
  read(payload: Buffer): Buffer | undefined {
    switch (payload[0]) {
      case kinds.whole:
        return payload.subarray(1);
      case kinds.part:
        if (payload.length <= PART_HEADER) break;
        return this.readPart(payload);
      case kinds.probe:
        if (payload.length === PROBE.length) return undefined;
    }
    throw new Error('a payload is neither a message nor a part of one');
  }

  /** Forgets the parts of messages that will not be completed, because messages were lost. */
  clear(): void {
    this.incomplete.clear();
    this.bytes = 0;
  }

  private readPart(payload: Buffer): Buffer | undefined {
    const number = payload.readUInt32LE(1);
    const [index, count] = [payload.readUInt16LE(5), payload.readUInt16LE(7)];
    if (index === 0) {
      this.drop(number);
      this.incomplete.set(number, { parts: [], count, bytes: 0 });
    }
    const message = this.incomplete.get(number);
    if (!message || index !== message.parts.length || count !== message.count || index >= count) {
      this.drop(number);
      throw new Error('a part of a message is missing');
    }
    const part = payload.subarray(PART_HEADER);
    message.parts.push(part);
    message.bytes += part.length;
    this.bytes += part.length;
    if (message.parts.length === count) {
      this.drop(number);
      return Buffer.concat(message.parts);
    }
    this.shrink();
    return undefined;
  }

  private shrink(): void {
    if (this.bytes <= MAX_KEPT_BYTES) return;
    this.drop(this.incomplete.keys().next().value!);
    throw new Error('too many messages are incomplete');
  }

  private drop(number: number): void {
    this.bytes -= this.incomplete.get(number)?.bytes ?? 0;
    this.incomplete.delete(number);
  }
}
