import type { Packet, Decoder as PacketDecoder } from 'socket.io-parser';
import type { EncodedPackets } from '../../engine/parser/socket-io-parser.js';

export type { EncodedPackets };

/**
 * A packet that is already encoded, here or by the worker that sent it. Each packet is thus encoded once per cluster.
 * Adapters treat it as a packet; reading its data decodes it. Adapters that encode packets themselves get its values.
 */
export class EncodedPacket {
  /** Packets with an acknowledgement are encoded by each worker, with an id of its own. */
  readonly id = undefined;
  private decoded: unknown[] | undefined;

  /**
   * @param type PacketType of socket.io-parser
   * @param decode called at most once
   */
  constructor(
    readonly type: number,
    public nsp: string,
    readonly encoded: EncodedPackets,
    private readonly decode: () => unknown[],
  ) {}

  /** The same packet with a list of its own. */
  copy(): EncodedPacket {
    return new EncodedPacket(this.type, this.nsp, [...this.encoded], () => this.data);
  }

  toJSON(): { type: number; nsp: string; data: unknown[] } {
    const { type, nsp, data } = this;
    return { type, nsp, data };
  }

  get data(): unknown[] {
    this.decoded ??= this.decode();
    return this.decoded;
  }
}

/** Decodes the data of a packet. */
export function decodePackets(
  packets: EncodedPackets,
  parser: new () => Pick<PacketDecoder, 'add' | 'on' | 'destroy'>,
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
