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
  /** A frame's beginning that was cut off by the end of a read. */
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
    if (this.#carried > 0) at = this.#resume(bytes, at, end, onFrame, context);
    if (this.#skip > 0) {
      const skipped = Math.min(this.#skip, end - at);
      this.#skip -= skipped;
      at += skipped;
      if (this.#skip > 0) return;
    }
    while (at < end) {
      const available = end - at;
      // Servers never mask (section 5.1), so the second byte is the length alone.
      let length = available > 1 ? bytes[at + 1] : 127;
      let header = 2;
      if (length > 125) {
        header = length === 126 ? 4 : MAX_HEADER_BYTES;
        if (available < header) return this.#keep(bytes, at, end);
        length = header === 4 ? (bytes[at + 2] << 8) | bytes[at + 3] : readLongLength(bytes, at);
      }
      if (available < header + Math.min(length, PEEK)) return this.#keep(bytes, at, end);
      onFrame(context, bytes[at], bytes, at + header, length);
      at += header + length;
    }
    this.#skip = at - end;
  }

  #keep(bytes, at, end) {
    this.#carry ??= Buffer.allocUnsafeSlow(MAX_HEADER_BYTES + PEEK);
    bytes.copy(this.#carry, 0, at, end);
    this.#carried = end - at;
  }

  /** Completes the carried beginning. Returns where the rest of the chunk starts. */
  #resume(bytes, at, end, onFrame, context) {
    let needed = neededBytes(this.#carry, this.#carried);
    while (this.#carried < needed) {
      const copied = Math.min(needed - this.#carried, end - at);
      if (copied === 0) return at;
      bytes.copy(this.#carry, this.#carried, at, at + copied);
      this.#carried += copied;
      at += copied;
      needed = neededBytes(this.#carry, this.#carried);
    }
    const header = headerLength(this.#carry);
    const length = payloadLength(this.#carry);
    this.#skip = header + length - this.#carried;
    this.#carried = 0;
    onFrame(context, this.#carry[0], this.#carry, header, length);
    return at;
  }
}

const headerLength = (frame) => (frame[1] < 126 ? 2 : frame[1] === 126 ? 4 : MAX_HEADER_BYTES);

const payloadLength = (frame) =>
  frame[1] < 126 ? frame[1] : frame[1] === 126 ? (frame[2] << 8) | frame[3] : readLongLength(frame, 0);

const readLongLength = (bytes, at) => bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6);

/** How many bytes of a frame must be together before it can be shown, as far as its first `count` bytes tell. */
function neededBytes(frame, count) {
  if (count < 2) return 2;
  const header = headerLength(frame);
  return count < header ? header : header + Math.min(payloadLength(frame), PEEK);
}
