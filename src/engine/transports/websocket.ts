import { decodeBinary, decodeText as decodeTextV3, encodeBase64, encodeBinary } from '../codec-v3.js';
import { decodeText, encodeText } from '../codec-v4.js';
import type { Channel, FrameReceiver } from '../exchange.js';
import type { Outbox } from '../outbox.js';
import { type Packet, PacketFormatError } from '../packet.js';
import type { Protocol, Transport, TransportOwner } from './transport.js';
import { TransportEvents } from './transport-events.js';

/** When messages are compressed: from this many bytes on, or never. */
export type CompressionThreshold = number | undefined;

/** The WebSocket transport: one packet a message. Source: Engine.IO v4, "WebSocket". */
export class WebSocketTransport extends TransportEvents implements Transport, FrameReceiver {
  sid = '';
  readyState: 'open' | 'closing' | 'closed' = 'open';
  /** The WebSocket, while it is open. */
  channel: Channel | undefined;

  constructor(
    public owner: TransportOwner,
    readonly protocol: Protocol,
    private readonly supportsBinary: boolean,
    private readonly compressFrom: CompressionThreshold,
    private readonly outbox: Outbox,
  ) {
    super();
  }

  get name(): 'websocket' {
    return 'websocket';
  }

  get canSend(): boolean {
    return this.channel !== undefined && this.readyState === 'open';
  }

  get writable(): boolean {
    return this.canSend && this.channel!.getBufferedAmount() === 0;
  }

  send(packets: readonly Packet[]): void {
    if (packets.length === 1) this.sendPacket(packets[0]!);
    else
      this.channel!.cork(() => {
        for (const packet of packets) this.sendPacket(packet);
      });
    this.owner.onDrain(this);
  }

  private sendPacket(packet: Packet): void {
    const { type, data } = packet;
    if (!this.canSend) return;
    const compress = packet.options?.compress !== false;
    if (!(data instanceof Uint8Array)) this.write(encodeText(type, data), false, compress);
    else if (this.protocol === 4) this.write(data, true, compress);
    else if (this.supportsBinary) this.write(encodeBinary(packet), true, compress);
    else this.write(encodeBase64(packet), false, compress);
  }

  /** Sends an encoded message. */
  write(message: string | Uint8Array, isBinary: boolean, compress: boolean): void {
    const threshold = this.compressFrom;
    const compressed = compress && threshold !== undefined && message.length >= threshold;
    this.outbox.send(this.channel!, message, isBinary, compressed);
  }

  onOpen(channel: Channel): void {
    this.channel = channel;
    this.owner.onReady(this);
  }

  onMessage(message: ArrayBuffer | Buffer, isBinary: boolean): void {
    // A view without a copy: good for as long as the call lasts.
    const bytes = message instanceof ArrayBuffer ? Buffer.from(message) : message;
    try {
      if (this.protocol === 3) this.readV3(bytes, isBinary);
      else if (isBinary) this.owner.onPacket(this, 'message', Buffer.from(bytes));
      else decodeText(bytes.toString(), this.visit);
    } catch (error) {
      if (!(error instanceof PacketFormatError)) throw error;
      this.owner.onError(this, 'parse error');
    }
  }

  private readV3(bytes: Buffer, isBinary: boolean): void {
    if (isBinary) decodeBinary(Buffer.from(bytes), this.visit);
    else decodeTextV3(bytes.toString(), this.visit);
  }

  private readonly visit: Parameters<typeof decodeText>[1] = (type, data) => this.owner.onPacket(this, type, data);

  onDrain(): void {
    if (this.readyState === 'open') this.owner.onReady(this);
  }

  onClose(code: number, reason: string): void {
    this.channel = undefined;
    this.readyState = 'closed';
    this.owner.onClose(this, { code, reason });
    this.emit('close');
  }

  discard(): void {}

  close(done?: () => void): void {
    if (this.readyState !== 'open') return;
    this.readyState = 'closing';
    // What was sent before still arrives.
    this.outbox.flush();
    // First, because end() calls onClose() before it returns.
    done?.();
    this.channel?.end();
  }
}
