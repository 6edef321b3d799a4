import { bufferOver } from '../../base/bytes.js';

/** A packet's type, by name. Engine.IO v4, "Packet encoding". */
export type PacketType = 'open' | 'close' | 'ping' | 'pong' | 'message' | 'upgrade' | 'noop';

/** A payload as applications see it: text, or binary as a Buffer. */
export type PacketData = string | Buffer;

export interface PacketOptions {
  /** Whether the packet may be compressed if the transport supports it. @default true */
  compress?: boolean;
}

export interface Packet {
  type: PacketType;
  data?: string | Uint8Array;
  options?: PacketOptions;
}

/** A decoded packet: its type, and its data if it has any. */
export type ReadPacket = readonly [type: PacketType, data: PacketData | undefined];

/** The packet types in the order of the digits that stand for them on the wire. */
export const packetTypes: readonly PacketType[] = ['open', 'close', 'ping', 'pong', 'message', 'upgrade', 'noop'];

/** The digit that stands for a packet type on the wire. */
export const packetDigits: Readonly<Record<PacketType, string>> = {
  open: '0',
  close: '1',
  ping: '2',
  pong: '3',
  message: '4',
  upgrade: '5',
  noop: '6',
};

/** The type for a digit's character code, or undefined. */
export function packetTypeOf(charCode: number): PacketType | undefined {
  return packetTypes[charCode - 48];
}

/** Thrown by the decoders for bytes that are no packet. A session that receives such bytes is closed. */
export class PacketFormatError extends Error {
  constructor(message = 'parse error') {
    super(message);
    this.name = 'PacketFormatError';
  }
}

/** The data that applications may send. */
export type SendData = PacketData | ArrayBuffer | ArrayBufferView | null | undefined;

/** Converts data to a payload without a copy. */
export function toPacketData(data: Exclude<SendData, string>): PacketData | undefined {
  return data === null || data === undefined ? undefined : (bufferOver(data) ?? String(data));
}
