import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Where a file of 64-bit ELF says how long it is: its table of sections comes last. Source: elf(5). */
const HEAD_BYTES = 64;
const MAGIC = 0x7f454c46;
const SECTIONS_AT = 0x28;
const SECTION_BYTES_AT = 0x3a;
const SECTIONS_NUMBER_AT = 0x3c;

/**
 * A library of which the end is missing, as after a full disk, ends the process with SIGBUS when it is loaded.
 * @throws Error if the end is missing
 */
export function checkWhole(file: string): void {
  const descriptor = openSync(file, 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    if (readSync(descriptor, head) < HEAD_BYTES || head.readUInt32BE(0) !== MAGIC) return;
    const end =
      Number(head.readBigUInt64LE(SECTIONS_AT)) +
      head.readUInt16LE(SECTION_BYTES_AT) * head.readUInt16LE(SECTIONS_NUMBER_AT);
    if (fstatSync(descriptor).size < end) throw new Error(`the end of ${file} is missing`);
  } finally {
    closeSync(descriptor);
  }
}
