import type { Namespace } from 'socket.io';
import { PacketType } from '../../engine/parser/socket-io-parser.js';
import { decodePackets, type EncodedPackets } from '../../io/rooms/index.js';
import { decoderOf } from '../../io/socket-io.private.js';

/** Adds offsets to encoded packets, as one more argument. */
export class OffsetWriter {
  private readonly isText: boolean;

  constructor(private readonly nsp: Namespace) {
    const [probe] = this.encode(['x']);
    this.isText = typeof probe === 'string' && probe.endsWith('["x"]');
  }

  encode(data: unknown[]): EncodedPackets {
    return this.nsp.server.encoder.encode({ type: PacketType.EVENT, nsp: this.nsp.name, data } as never) as never;
  }

  /** The packet with the offset. The default format needs no decoding: the arguments are a JSON array at its end. */
  withOffset(packets: EncodedPackets, offset: string): EncodedPackets {
    const [text, ...attachments] = packets;
    // Added up, its parts would take several times its memory until it is sent.
    if (this.isText && typeof text === 'string')
      return [[text.slice(0, -1), ',"', offset, '"]'].join(''), ...attachments];
    return this.encode([...this.decode(packets), offset]);
  }

  decode(packets: EncodedPackets): unknown[] {
    return decodePackets(packets, decoderOf(this.nsp.server));
  }
}
