/**
 * The first frame of what a server has sent: RFC 6455, section 5.2.
 * @param {Buffer} bytes
 * @returns {{ opcode: number, head: Buffer, payload: Buffer, length: number } | undefined} `length` is that of the whole
 *   frame; undefined where it is not there as a whole
 */
export function takeFrame(bytes) {
  if (bytes.length < 2) return undefined;
  const short = bytes[1] & 127;
  const header = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (bytes.length < header) return undefined;
  const payload = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
  const length = header + payload;
  if (bytes.length < length) return undefined;
  return { opcode: bytes[0] & 15, head: bytes.subarray(0, header), payload: bytes.subarray(header, length), length };
}
