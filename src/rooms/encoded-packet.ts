/** What a packet is on the wire: a text, and the binary attachments that follow it. */
export type EncodedPackets = (string | Buffer)[];

/**
 * A packet that is encoded already: here, or by the worker that it comes from, so that it is encoded once per cluster.
 * Adapters take it for a packet; what needs its data gets it decoded.
 */
export class EncodedPacket {
  /** Not an acknowledgement's packet: those are encoded by each worker, with an id of its own. */
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

  get data(): unknown[] {
    this.decoded ??= this.decode();
    return this.decoded;
  }
}
