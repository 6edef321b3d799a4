import { bufferOver } from '../../base/bytes.js';
import {
  type Packet,
  PacketFormatError,
  type PacketType,
  packetDigits,
  packetTypeOf,
  type ReadPacket,
} from './packet.js';

/**
 * Engine.IO v4 encoding, as pure functions.
 * Source: Engine.IO protocol v4, "Packet encoding" (HTTP long-polling and WebSocket).
 */

/** Separates the packets of a payload. */
const SEPARATOR = '\x1e';

/** One text packet: its digit, then its data. */
export function encodeText(type: PacketType, data: string | undefined): string {
  return data === undefined ? packetDigits[type] : packetDigits[type] + data;
}

/** One packet as text; binary data is base64 after a `b`. */
export function encodeAsText({ type, data }: Packet): string {
  return data instanceof Uint8Array ? `b${bufferOver(data).toString('base64')}` : encodeText(type, data);
}

/** A payload of several packets for HTTP long-polling. */
export function encodePayload(packets: readonly Packet[]): string {
  let payload = '';
  for (const [index, packet] of packets.entries()) {
    if (index > 0) payload += SEPARATOR;
    payload += encodeAsText(packet);
  }
  return payload;
}

/** Reads one text packet, base64 included. Throws {@link PacketFormatError}. */
export function decodeText(text: string): ReadPacket {
  if (text.charCodeAt(0) === 98 /* b */) return ['message', Buffer.from(text.slice(1), 'base64')];
  const type = packetTypeOf(text.charCodeAt(0));
  if (type === undefined) throw new PacketFormatError();
  return [type, text.length > 1 ? text.slice(1) : undefined];
}

/** The packets of a long-polling payload, one by one. Throws {@link PacketFormatError} at the first bad packet. */
export function* readPayload(payload: string): Generator<ReadPacket> {
  let start = 0;
  while (start <= payload.length) {
    const found = payload.indexOf(SEPARATOR, start);
    const end = found === -1 ? payload.length : found;
    yield decodeText(payload.slice(start, end));
    start = end + 1;
  }
}
