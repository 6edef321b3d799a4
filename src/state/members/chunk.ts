import type { Entries, Entry } from '../entries.js';

/** What a client is told with its changes. */
export interface StateMeta {
  /** Pass it to `join()` after a reconnection to get only what has changed since. */
  version: string;
  /** Set on the first message of a snapshot: keys that the client has from before count no more. */
  snapshot?: true;
  /** Set if more changes follow at once: what the client has is not complete yet. */
  more?: true;
}

/** The changes of one message. */
export interface Chunk {
  /** The entries of the keys, deleted ones included. */
  readonly entries: readonly Entry[];
  /** A reader that had everything up to the number `from` has everything up to `to` now. */
  readonly from: number;
  readonly to: number;
  /** Approximate number of bytes. */
  readonly bytes: number;
  readonly isSnapshot: boolean;
}

/** The version of a reader that has nothing, and needs a snapshot. */
export const NOTHING = -1;

/**
 * The changes after a number, up to another number, a size, or what a client accepts in one packet. A single larger change is a
 * chunk too.
 * @param from what the reader has, or NOTHING
 */
export function takeChunk(entries: Entries, from: number, upTo: number, maxBytes: number): Chunk {
  const isSnapshot = from === NOTHING || from < entries.forgottenSeq;
  const found: Entry[] = [];
  let bytes = 0;
  let attachments = 0;
  let to = upTo;
  for (const entry of entries.after(isSnapshot ? 0 : from)) {
    if (entry.seq > upTo) break;
    // A client that begins does not have what was deleted.
    if (isSnapshot && entry.value === undefined) continue;
    const size = entry.bytes + OVERHEAD;
    if (entry.value instanceof Buffer) attachments++;
    if (found.length > 0 && (bytes + size > maxBytes || attachments > MAX_ATTACHMENTS)) {
      to = found.at(-1)!.seq;
      break;
    }
    found.push(entry);
    bytes += size;
  }
  return { entries: found, from, to, bytes, isSnapshot };
}

/** More in one packet end the connection of a client: the limit of socket.io-parser. */
const MAX_ATTACHMENTS = 10;

/** Approximate bytes around a key and its value in a message. */
const OVERHEAD = 6;
