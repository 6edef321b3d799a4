import { deserialize, serialize } from 'node:v8';
import type { ClusterMessage, ClusterResponse } from 'socket.io-adapter';
import { Decoder, Encoder, type Packet, PacketType } from 'socket.io-parser';
import type { EncodedPackets } from '../../encoded-packet.js';

export type Message = ClusterMessage | ClusterResponse;

/** A broadcast as workers exchange it: already encoded for the clients. */
export interface BroadcastFrame {
  nsp: string;
  uid: string;
  /** PacketType of socket.io-parser. */
  packetType: number;
  opts: { rooms: string[]; except: string[]; flags: object };
  encoded: EncodedPackets;
}

/** Any other message as workers exchange it. */
interface MessageFrame {
  nsp: string;
  message: EncodedPackets;
}

const encoder = new Encoder();

export function encodeBroadcast(frame: BroadcastFrame): Buffer {
  return serialize(frame);
}

/**
 * Values of applications are encoded as for a client: as JSON with binary attachments. A structured clone would throw
 * on functions, and would not call the `toJSON` of objects.
 */
export function encodeMessage(message: Message): Buffer {
  const packet = { type: PacketType.EVENT, nsp: '/', data: ['', message] };
  const frame: MessageFrame = { nsp: message.nsp, message: encoder.encode(packet) as EncodedPackets };
  return serialize(frame);
}

export function decodeFrame(payload: Buffer): BroadcastFrame | Message {
  const frame = deserialize(payload) as BroadcastFrame | MessageFrame;
  if ('encoded' in frame) return frame;
  const [, message] = decodePackets(frame.message, Decoder);
  return message as Message;
}

/** Decodes the data of a packet. */
export function decodePackets(
  packets: EncodedPackets,
  parser: new () => Pick<Decoder, 'add' | 'on' | 'destroy'>,
): unknown[] {
  const decoder = new parser();
  let data: unknown[] = [];
  decoder.on('decoded', (packet: Packet) => {
    data = packet.data as unknown[];
  });
  for (const packet of packets) decoder.add(packet);
  decoder.destroy();
  return data;
}
