import { closeCodeOf, type ErrorCode } from '../../base/errors.js';
import { warnOnce } from '../../base/warnings.js';
import { currentTick } from '../clock.js';
import type { Closing } from '../delivery/closing.js';
import type { Outbox } from '../delivery/outbox.js';
import { LONG, type RecentStrings } from '../delivery/recent-strings.js';
import {
  type FrameReceiver,
  isNative,
  type LeftWebSocket,
  type NativeWebSocket,
  type WebSocketConnection,
} from '../http/exchange.js';
import * as v3 from '../protocol/codec-v3.js';
import { decodeText, encodeAsText, encodeText } from '../protocol/codec-v4.js';
import {
  type Packet,
  type PacketData,
  PacketFormatError,
  type PacketOptions,
  type PacketType,
  packetDigits,
} from '../protocol/packet.js';
import { LazyEventEmitter } from '../session/compact-emitter.js';
import { isForbiddenFrame } from '../uws/uws.js';
import type { Protocol, Transport, TransportOwner } from './transport.js';

const MESSAGE = packetDigits.message;
/** Reads short texts in half the time that a Buffer over them takes. A mark of the byte order is kept, as a Buffer does. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** The parts that all WebSockets of one engine share. */
export interface WebSocketSettings {
  /** All packets are sent through the outbox. */
  readonly outbox: Outbox;
  readonly closing: Closing;
  /** The bytes of recently sent messages, by their data. */
  readonly recent: RecentStrings<Uint8Array>;
  /** Messages of this number of bytes or more are compressed; undefined for never. */
  readonly compressFrom: number | undefined;
}

/** Transports whose owners wait for what the outbox holds. A field of each would take more memory. */
const awaited = new Set<object>();

/** The WebSocket transport: one packet per message. Source: Engine.IO v4, "WebSocket". */
export class WebSocketTransport extends LazyEventEmitter implements Transport, FrameReceiver {
  readyState: 'open' | 'closing' | 'closed' = 'open';
  /** The WebSocket, while it is open. */
  webSocket: WebSocketConnection | undefined = undefined;
  /** The tick of the last sent packet. */
  private sentIn = -1;

  constructor(
    public owner: TransportOwner,
    readonly protocol: Protocol,
    private readonly supportsBinary: boolean,
    private readonly settings: WebSocketSettings,
  ) {
    super();
  }

  get sid(): string {
    return this.owner.id;
  }

  get name(): 'websocket' {
    return 'websocket';
  }

  /** Always undefined: there is no WebSocket of `ws`. Reading it is reported, because applications go on to its members. */
  get socket(): undefined {
    warnOnce(
      'GJALLAR_NO_WS',
      'socket.conn.transport.socket is undefined: gjallar has no WebSocket of the package ws. Use socket.conn.remoteAddress, ' +
        'socket.conn.bufferedAmount and socket.conn.close().',
    );
    return undefined;
  }

  get canSend(): boolean {
    return this.webSocket !== undefined && this.readyState === 'open';
  }

  /** As in engine.io, a transport that has just sent a packet is busy for volatile packets until the tick ends. */
  get writable(): boolean {
    return this.canSend && this.sentIn !== currentTick() && this.webSocket!.getBufferedAmount() === 0;
  }

  get nativeSocket(): NativeWebSocket | undefined {
    const { protocol, supportsBinary, webSocket } = this;
    return protocol === 4 && supportsBinary && webSocket && isNative(webSocket) ? webSocket : undefined;
  }

  get bufferedAmount(): number {
    const { webSocket } = this;
    return webSocket ? webSocket.getBufferedAmount() + this.settings.outbox.heldFor(webSocket) : 0;
  }

  send(packets: readonly Packet[]): void {
    const sendAll = () => {
      for (const { type, data, options } of packets) if (this.canSend) this.sendOne(type, data, options);
    };
    if (packets.length === 1) sendAll();
    else this.webSocket!.cork(sendAll);
    this.owner.onDrain(this);
  }

  sendOne(type: PacketType, data: string | Uint8Array | undefined, options?: PacketOptions): void {
    const compress = options?.compress !== false;
    if (!(data instanceof Uint8Array)) this.write(this.encoded(type, data), false, compress);
    else if (!this.supportsBinary) this.write(this.encodedBase64(type, data), false, compress);
    else if (this.protocol === 4) this.write(data, true, compress);
    else this.write(v3.encodeBinary({ type, data }), true, compress);
  }

  /** A packet as text, or as bytes if the same message was sent before: passing a long text to C++ is expensive. */
  private encoded(type: PacketType, data: string | undefined): string | Uint8Array {
    if (type !== 'message' || data === undefined) return encodeText(type, data);
    const bytes = data.length >= LONG ? this.settings.recent.get(data, bytesOf) : undefined;
    return bytes ?? MESSAGE + data;
  }

  private encodedBase64(type: PacketType, data: Uint8Array): string {
    return this.protocol === 4 ? encodeAsText({ type, data }) : v3.encodeBase64({ type, data });
  }

  private write(message: string | Uint8Array, isBinary: boolean, compress: boolean): void {
    const { compressFrom, outbox } = this.settings;
    const compressed = compress && compressFrom !== undefined && message.length >= compressFrom;
    outbox.send(this.webSocket!, message, isBinary, compressed);
    this.sentIn = currentTick();
  }

  onOpen(webSocket: WebSocketConnection): void {
    this.webSocket = webSocket;
    this.owner.onReady(this);
  }

  onMessage(message: ArrayBuffer | Buffer, isBinary: boolean): void {
    try {
      if (isBinary || this.protocol === 3) this.readBytes(message, isBinary);
      else {
        const [type, data] = decodeText(utf8.decode(message));
        this.owner.onPacket(this, type, data);
      }
    } catch (error) {
      if (!(error instanceof PacketFormatError)) throw error;
      this.owner.onError(this, 'parse error');
    }
  }

  private readBytes(message: ArrayBuffer | Buffer, isBinary: boolean): void {
    // A view without a copy, which is valid only during this call.
    const bytes = message instanceof ArrayBuffer ? Buffer.from(message) : message;
    if (this.protocol === 4) this.visit('message', Buffer.from(bytes));
    else if (isBinary) this.visit(...v3.decodeBinary(Buffer.from(bytes)));
    else this.visit(...v3.decodeText(bytes.toString()));
  }

  private visit(type: PacketType, data: PacketData | undefined): void {
    this.owner.onPacket(this, type, data);
  }

  onDrain(): void {
    if (this.readyState === 'open') this.owner.onProgress(this);
  }

  /** The sockets report no progress if the operating system takes all that the outbox has held. */
  progressAfterHeld(): void {
    const { webSocket } = this;
    const { outbox } = this.settings;
    if (!webSocket || awaited.has(this) || outbox.heldFor(webSocket) === 0) return;
    awaited.add(this);
    outbox.afterHeld(() => {
      awaited.delete(this);
      if (this.webSocket && this.bufferedAmount === 0) this.onDrain();
    });
  }

  onOverflow(): void {
    this.owner.onOverflow(this);
  }

  onFlood(): void {
    this.owner.onFlood(this);
  }

  onDetached(): void {
    if (this.webSocket) this.settings.outbox.forget(this.webSocket);
    this.webSocket = undefined;
  }

  onClose(code: number, reason: string): void {
    this.onDetached();
    this.readyState = 'closed';
    if (isForbiddenFrame(code, reason)) this.owner.onError(this, 'websocket error', { code, reason });
    else this.owner.onClose(this, { code, reason });
    this.emit('close');
  }

  get canLeave(): boolean {
    const { nativeSocket, settings } = this;
    return this.canSend && nativeSocket?.canLeave === true && settings.outbox.heldFor(nativeSocket) === 0;
  }

  /** Hands the WebSocket over to another process. Call it only if {@link canLeave}. */
  handOver(): LeftWebSocket {
    const left = this.nativeSocket!.leave!();
    this.onDetached();
    this.readyState = 'closed';
    return left;
  }

  discard(): void {}

  dismiss(done: () => void): void {
    if (!this.startClosing(done)) return;
    if (this.webSocket) this.settings.closing.dismiss(this.webSocket);
  }

  close(done?: () => void, code?: ErrorCode): void {
    if (!this.startClosing(done)) return;
    if (this.webSocket) this.settings.closing.end(this.webSocket, code && closeCodeOf(code), code);
  }

  private startClosing(done?: () => void): boolean {
    if (this.readyState !== 'open') return false;
    this.readyState = 'closing';
    // Packets that were sent earlier must still arrive.
    this.settings.outbox.flush();
    // Called before the WebSocket is closed, which calls onClose().
    done?.();
    return true;
  }
}

function bytesOf(message: string): Uint8Array {
  return Buffer.from(encodeText('message', message));
}
