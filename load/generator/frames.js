// Reading WebSocket frames (RFC 6455, section 5.2) as a client, without copying and without strings: the reader looks
// at the header, shows the first bytes of the payload to its owner and skips the rest.

/** Bytes of a payload that are guaranteed to lie together in the buffer shown to `onFrame`, if the payload has them. */
export const PEEK = 192;

const MAX_HEADER_BYTES = 10;

/**
 * @callback OnFrame
 * @param {object} context what was passed to `read`
 * @param {number} first the frame's first byte: FIN, reserved bits and opcode
 * @param {Buffer} bytes where the payload lies; reused after the call
 * @param {number} at offset of the payload in `bytes`; min(length, PEEK) bytes of it are there
 * @param {number} length length of the whole payload
 */

/** The state of one connection between two reads. */
export class FrameReader {
  /** Payload bytes still to come that are not looked at. */
  #skip = 0;
  /** A frame's beginning that was cut off by the end of a read, with room for as much as has to lie together. */
  #carry = null;
  #carried = 0;

  /**
   * @param {Buffer} bytes
   * @param {number} at
   * @param {number} end
   * @param {OnFrame} onFrame
   * @param {object} context handed on to `onFrame`, which is therefore one function for all connections
   */
  read(bytes, at, end, onFrame, context) {
    if (this.#carried > 0) {
      // What is carried, and what follows it, shows one frame. The rest of that is read where it came from.
      const before = this.#carried;
      const more = bytes.copy(this.#carry, before, at, Math.min(end, at + this.#carry.length - before));
      this.#carried = 0;
      const next = readFrame(this.#carry, 0, before + more, onFrame, context);
      if (next === 0) {
        this.#carried = before + more;
        return;
      }
      at += next - before;
    } else {
      at += this.#skip;
    }
    while (at < end) {
      const next = readFrame(bytes, at, end, onFrame, context);
      if (next === at) break;
      at = next;
    }
    this.#skip = Math.max(0, at - end);
    if (at >= end) return;
    this.#carry ??= Buffer.allocUnsafeSlow(MAX_HEADER_BYTES + PEEK);
    this.#carried = bytes.copy(this.#carry, 0, at, end);
  }
}

/** Shows the frame at a place. Returns where the next one begins, or the same place if too little of this one is there. */
function readFrame(bytes, at, end, onFrame, context) {
  const available = end - at;
  if (available < 2) return at;
  // Servers never mask (section 5.1), so the second byte is the length alone.
  let length = bytes[at + 1];
  let header = 2;
  if (length > 125) {
    header = length === 126 ? 4 : MAX_HEADER_BYTES;
    if (available < header) return at;
    length = header === 4 ? (bytes[at + 2] << 8) | bytes[at + 3] : readLongLength(bytes, at);
  }
  if (available < header + Math.min(length, PEEK)) return at;
  onFrame(context, bytes[at], bytes, at + header, length);
  return at + header + length;
}

const readLongLength = (bytes, at) => bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6);
