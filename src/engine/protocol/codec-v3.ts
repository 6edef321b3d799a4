import { bufferOver } from '../../base/bytes.js';
import { type Packet, PacketFormatError, packetDigits, packetTypeOf, packetTypes, type ReadPacket } from './packet.js';

/**
 * Engine.IO v3 encoding, for Socket.IO v2 clients (`allowEIO3`), as pure functions.
 * Source: Engine.IO protocol v3, "Encoding". Text packets are encoded as in v4.
 */

/** One binary packet: a byte with its type, then its data. */
export function encodeBinary(packet: Packet): Buffer {
  return Buffer.concat([Buffer.of(packetTypes.indexOf(packet.type)), packet.data as Uint8Array]);
}

/** Reads one binary packet. Throws {@link PacketFormatError}. */
export function decodeBinary(data: Buffer): ReadPacket {
  const type = packetTypes[data[0] ?? -1];
  if (type === undefined) throw new PacketFormatError();
  return [type, data.subarray(1)];
}

/** One packet as text; binary data is base64 after `b` and the type's digit. */
export function encodeBase64(packet: Packet): string {
  return packet.data instanceof Uint8Array
    ? `b${packetDigits[packet.type]}${bufferOver(packet.data).toString('base64')}`
    : packetDigits[packet.type] + (packet.data ?? '');
}

/** Reads one text packet, base64 included. Throws {@link PacketFormatError}. */
export function decodeText(text: string): ReadPacket {
  const isBase64 = text.charCodeAt(0) === 98; /* b */
  const type = packetTypeOf(text.charCodeAt(isBase64 ? 1 : 0));
  if (type === undefined) throw new PacketFormatError();
  if (isBase64) return [type, Buffer.from(text.slice(2), 'base64')];
  return [type, text.length > 1 ? text.slice(1) : undefined];
}

/** A payload: text if no packet is binary or the client cannot read binary, otherwise bytes. */
export function encodePayload(packets: readonly Packet[], supportsBinary: boolean): string | Buffer {
  if (supportsBinary && packets.some((packet) => packet.data instanceof Uint8Array)) return encodeBytes(packets);
  let payload = '';
  for (const packet of packets) {
    const text = encodeBase64(packet);
    payload += `${text.length}:${text}`;
  }
  return payload;
}

/** Each packet: 0 (text) or 1 (binary), the length's decimal digits as bytes, 255, the packet. */
function encodeBytes(packets: readonly Packet[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const packet of packets) {
    const isBinary = packet.data instanceof Uint8Array;
    const body = isBinary ? encodeBinary(packet) : Buffer.from(packetDigits[packet.type] + (packet.data ?? ''));
    const digits = [...String(body.length)].map(Number);
    parts.push(Uint8Array.of(isBinary ? 1 : 0, ...digits, 255), body);
  }
  return Buffer.concat(parts);
}

/** The packets of a text payload, one by one. Throws {@link PacketFormatError} at the first bad packet. */
export function* readPayload(payload: string): Generator<ReadPacket> {
  if (payload === '') throw new PacketFormatError();
  let at = 0;
  while (at < payload.length) {
    const colon = payload.indexOf(':', at);
    const digits = payload.slice(at, colon === -1 ? at : colon);
    const length = Number(digits);
    if (!/^[1-9]\d{0,9}$/.test(digits) || colon + 1 + length > payload.length) throw new PacketFormatError();
    at = colon + 1 + length;
    yield decodeText(payload.slice(colon + 1, at));
  }
}

/** The packets of a payload of bytes, one by one. Throws {@link PacketFormatError} at the first bad packet. */
export function* readBytes(payload: Buffer): Generator<ReadPacket> {
  let at = 0;
  while (at < payload.length) {
    const kind = payload[at++];
    let length = 0;
    let digits = 0;
    for (; payload[at] !== 255; at++, digits++) {
      const digit = payload[at];
      if (digit === undefined || digit > 9 || digits === 10) throw new PacketFormatError();
      length = length * 10 + digit;
    }
    at++;
    if ((kind !== 0 && kind !== 1) || digits === 0 || at + length > payload.length) throw new PacketFormatError();
    const part = payload.subarray(at, at + length);
    // An attachment that waits for others would keep the whole payload in memory.
    const body = length < payload.length / 2 ? Buffer.from(part) : part;
    at += length;
    yield kind === 1 ? decodeBinary(body) : decodeText(body.toString());
  }
}
