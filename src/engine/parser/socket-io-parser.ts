import type { Packet } from 'socket.io-parser';
import { asTextOrBytes } from '../../base/bytes.js';
import { requireHere } from '../../base/package.js';

/** The copy of socket.io-parser that socket.io itself has loaded. `import` would load a second one. */
const parser = requireHere('socket.io-parser') as typeof import('socket.io-parser');

export const { Decoder, PacketType } = parser;

/** A packet as it is sent: a text, and the binary attachments that follow it. */
export type EncodedPackets = (string | Buffer)[];

/**
 * Encodes what `emit()` is given, into texts and Buffers alone. Socket.IO's own encoder passes binary values on as they are.
 * `encode()` throws for a value that cannot be sent.
 */
export class Encoder extends parser.Encoder {
  override encode(packet: Packet): EncodedPackets {
    return asTextOrBytes(super.encode(packet));
  }
}

/** The encoder of an application's own parser. */
interface AnyEncoder {
  encode(packet: never): unknown[];
}

const yielding = new WeakSet<AnyEncoder>();

/** Lets another encoder do the same. */
export function encodeToBytes<T extends AnyEncoder>(encoder: T): T {
  if (encoder instanceof Encoder || yielding.has(encoder)) return encoder;
  yielding.add(encoder);
  const { encode } = encoder;
  encoder.encode = (packet) => asTextOrBytes(encode.call(encoder, packet));
  return encoder;
}

/**
 * How often JSON has what Socket.IO's decoder takes for the place of an attachment. In a packet with attachments of other
 * values, each would get one of those. Quotes inside of a text are escaped, so no text looks like it.
 */
export const placesOfAttachments = (json: string): number => json.split('"_placeholder":true').length - 1;

/** Events that Socket.IO emits itself. Its parser rejects them, and the connection ends. */
export const reservedEvents: ReadonlySet<unknown> = new Set([
  'connect',
  'connect_error',
  'disconnect',
  'disconnecting',
  'newListener',
  'removeListener',
]);

/** Decodes what servers have encoded themselves. Other than for clients, the number of attachments has no limit. */
export class TrustedDecoder extends Decoder {
  constructor() {
    // Older versions take only a function, and ignore the rest.
    super({ maxAttachments: Number.POSITIVE_INFINITY } as never);
  }
}
