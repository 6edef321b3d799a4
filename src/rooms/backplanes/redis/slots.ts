/** How many slots a Redis Cluster has. */
const SLOTS = 16_384;

/** The slot of a channel or key. Source: Redis Cluster specification, "Key distribution model" and "Hash tags". */
export function slotOf(name: string): number {
  const open = name.indexOf('{');
  const close = open === -1 ? -1 : name.indexOf('}', open + 1);
  return crc16(Buffer.from(close > open + 1 ? name.slice(open + 1, close) : name)) % SLOTS;
}

/** CRC-16/XMODEM: polynomial 0x1021, initial value 0. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return crc & 0xffff;
}
