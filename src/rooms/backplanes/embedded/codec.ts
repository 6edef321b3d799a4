import { deserialize, serialize } from 'node:v8';
import type { ClusterMessage, ClusterResponse } from 'socket.io-adapter';
import { Decoder, Encoder, type Packet, PacketType } from 'socket.io-parser';
import { MalformedMessage } from '../../../errors.js';
import type { EncodedPackets } from '../../encoded-packet.js';
import { checkClusterMessage, checkOptions } from '../checks.js';

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

/**
 * @returns the frame, and whether listeners of the application handle it
 * @throws Error if the frame is malformed
 */
export function decodeFrame(payload: Buffer): { frame: BroadcastFrame | Message; isForApplication: boolean } {
  const frame = deserialize(payload) as BroadcastFrame | MessageFrame;
  if ('encoded' in frame) {
    checkBroadcastFrame(frame);
    return { frame, isForApplication: false };
  }
  const [, message] = decodePackets(frame.message, Decoder);
  return { frame: message as Message, isForApplication: checkClusterMessage(message) };
}

function checkBroadcastFrame({ nsp, uid, packetType, opts, encoded }: BroadcastFrame): void {
  checkOptions(opts);
  const isEncoded = encoded.every((one) => typeof one === 'string' || (one as unknown) instanceof Uint8Array);
  if (typeof nsp !== 'string' || typeof uid !== 'string' || !Number.isInteger(packetType) || !isEncoded) {
    throw new MalformedMessage('the frame has the wrong fields');
  }
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
