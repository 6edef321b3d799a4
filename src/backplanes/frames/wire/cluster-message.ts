import { deserialize, serialize } from 'node:v8';
import { type ClusterMessage, type ClusterResponse, MessageType } from 'socket.io-adapter';
import { sendable } from '../../../base/sendable.js';
import { type SocketDetails, sendableSocket } from '../../../compat/socket-io.js';
import { Encoder, PacketType, TrustedDecoder } from '../../../compat/socket-io-parser.js';
import { decodePackets, type EncodedPackets } from '../../../rooms/index.js';
import { checkClusterMessage } from '../../checks.js';
import { messageOf, types } from './message.js';

export type Message = ClusterMessage | ClusterResponse;

const encoder = new Encoder();

/** The first byte of an event without attachments. It is followed by JSON. */
const EVENT = '2'.charCodeAt(0);

/**
 * Values of applications are encoded as for a client: as JSON with binary attachments. A structured clone would throw
 * on functions, and would not call the `toJSON` of objects.
 * @throws if a value cannot be encoded, such as BigInt
 */
export function encodeMessage(message: Message): Buffer {
  const packet = { type: PacketType.EVENT, nsp: '/', data: ['', message] };
  const encoded = encoder.encode(packet) as EncodedPackets;
  const [text] = encoded;
  const bytes = encoded.length === 1 ? Buffer.from(text as string) : serialize(encoded);
  return messageOf(types.cluster, bytes);
}

/** An answer to another worker, which waits for it: what cannot be encoded is left out. */
export function encodeResponse(response: ClusterResponse): Buffer {
  try {
    return encodeMessage(response);
  } catch {
    return encodeMessage(sendableResponse(response));
  }
}

function sendableResponse(response: ClusterResponse): ClusterResponse {
  if (response.type !== MessageType.FETCH_SOCKETS_RESPONSE) return sendable(response, 'an acknowledgement');
  const { data } = response;
  return { ...response, data: { ...data, sockets: (data.sockets as SocketDetails[]).map(sendableSocket) } };
}

/**
 * @returns the message, and whether listeners of the application handle it
 * @throws Error if it is malformed
 */
export function decodeMessage(bytes: Buffer): { message: Message; isForApplication: boolean } {
  const isText = bytes[0] === EVENT;
  const [, message] = isText
    ? (JSON.parse(bytes.toString('utf8', 1)) as unknown[])
    : decodePackets(deserialize(bytes) as EncodedPackets, TrustedDecoder);
  return { message: message as Message, isForApplication: checkClusterMessage(message) };
}
