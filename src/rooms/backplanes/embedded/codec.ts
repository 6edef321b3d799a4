import { deserialize, serialize } from 'node:v8';
import type { ClusterMessage, ClusterResponse } from 'socket.io-adapter';
import { Decoder, Encoder, type Packet, PacketType } from 'socket.io-parser';
import type { EncodedPackets } from '../../encoded-packet.js';

export type Message = ClusterMessage | ClusterResponse;

/** A broadcast as it travels: encoded for the clients already. */
export interface BroadcastFrame {
  nsp: string;
  uid: string;
  /** PacketType of socket.io-parser. */
  packetType: number;
  opts: { rooms: string[]; except: string[]; flags: object };
  encoded: EncodedPackets;
}

/** Any other message as it travels. */
interface MessageFrame {
  nsp: string;
  message: EncodedPackets;
}

const encoder = new Encoder();

export function encodeBroadcast(frame: BroadcastFrame): Buffer {
  return serialize(frame);
}

/**
 * Values of applications travel as they would to a client: as JSON with binary attachments. A structured clone would
 * throw at functions, and would not ask objects for their `toJSON`.
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

/** The data of a packet that an encoder has made. */
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
