import { queueMicrotask } from '../../base/clock.js';
import type { Engine } from '../engine.js';
import {
  type Packet,
  type PacketData,
  type PacketOptions,
  type PacketType,
  type SendData,
  toPacketData,
} from '../protocol/packet.js';
import type { Transport } from '../transports/transport.js';
import { CompactEmitter } from './compact-emitter.js';

/** The packets of a client on polling that go along to another worker, in bytes. */
const MAX_MOVED_BYTES = 65_536;
/** Memory of a waiting packet besides its data, in bytes. */
const PACKET_OVERHEAD = 160;

export type SendCallback = (transport: Transport) => void;

/** The sending half of a session: buffers packets until the transport can send them. */
export abstract class PacketSender extends CompactEmitter {
  readyState: 'open' | 'closing' | 'closed' = 'open';

  protected buffer: Packet[] | undefined = undefined;
  protected callbacks: SendCallback[] | undefined = undefined;
  /** The bytes of the data in the buffer. */
  private bufferBytes = 0;

  constructor(
    protected readonly host: Engine,
    public transport: Transport,
  ) {
    super();
  }

  protected override observe(event: string | symbol): void {
    super.observe(event);
    if (event === 'packetCreate' && this.readyState !== 'closed') this.host.packetListeners.add(this);
    if (event === 'drain') this.transport.progressAfterHeld?.();
  }

  /** Packets that wait until the transport can send them. */
  get writeBuffer(): Packet[] {
    this.buffer ??= [];
    return this.buffer;
  }

  /**
   * Bytes that wait for the client, without the operating system's buffers; on polling, with the memory that each packet
   * takes besides its data. The number falls before `drain` is emitted. A sender of much data should wait for `drain` while many bytes wait.
   */
  get bufferedAmount(): number {
    return this.bufferBytes + this.waitingPackets * PACKET_OVERHEAD + this.transport.bufferedAmount;
  }

  private get waitingPackets(): number {
    return this.buffer?.length ?? 0;
  }

  /**
   * Sends a message. `callback`, which may also be the second argument, is called when the transport has the message.
   * `null` sends an empty message.
   */
  send(data: SendData, options?: PacketOptions | SendCallback, callback?: SendCallback): this {
    const payload = typeof data === 'string' || Buffer.isBuffer(data) ? data : toPacketData(data);
    if (typeof options === 'function') this.sendPacket('message', payload, undefined, options);
    else this.sendPacket('message', payload, options, callback);
    return this;
  }

  /** The same as {@link send}. */
  write(data: SendData, options?: PacketOptions | SendCallback, callback?: SendCallback): this {
    return this.send(data, options, callback);
  }

  /** The callbacks of waiting packets, under their name in engine.io. */
  get packetsFn(): readonly SendCallback[] {
    return this.callbacks ?? [];
  }

  /** The callbacks of packets in the transport, under their name in engine.io. Always empty here. */
  get sentCallbackFn(): readonly SendCallback[] {
    return [];
  }

  protected sendPacket(type: PacketType, data?: PacketData, options = defaultOptions, callback?: SendCallback): void {
    const { slow } = this.host;
    if (this.readyState !== 'open' || slow.isOverflowing(this)) return;
    if (type === 'message') this.host.counters.sent++;
    const isWatched = this.isObserved || this.host.isWatchingPackets;
    if (!isWatched && !callback && !this.buffer && this.transport.canSend) {
      // The usual case: no listener sees the packet, and no other packet waits.
      this.transport.sendOne(type, data, options);
      return;
    }
    if (slow.isTooMuch(this.bufferBytes, this.waitingPackets) && type === 'message' && !this.transport.canSend) {
      slow.overflow(this);
      return;
    }
    const packet: Packet = { type, data, options };
    if (isWatched) {
      packet.options = { ...options, compress: options.compress !== false };
      this.emit('packetCreate', packet);
    }
    this.writeBuffer.push(packet);
    this.bufferBytes += data?.length ?? 0;
    if (callback) {
      this.callbacks ??= [];
      this.callbacks.push(callback);
    }
    this.flush();
  }

  /**
   * Lets the client get all packets of the rest of this turn with one write. A connection on polling can end between two
   * responses, and each write of a WebSocket costs.
   */
  sendTogether(): void {
    if (held.has(this)) return;
    held.add(this);
    this.buffer ??= [];
    queueMicrotask(() => {
      held.delete(this);
      if (this.buffer?.length === 0) this.buffer = undefined;
      else this.flush();
    });
  }

  /** Whether the waiting packets could go along with the session. Those of a WebSocket do not wait. */
  protected mayLeaveWith({ name }: Transport): boolean {
    if (held.has(this)) return false;
    return name === 'polling' ? this.bufferBytes <= MAX_MOVED_BYTES : !this.buffer?.length;
  }

  /** Takes the waiting packets: another worker sends them. */
  takePackets(): Packet[] {
    const packets = this.buffer ?? [];
    this.buffer = undefined;
    this.bufferBytes = 0;
    return packets;
  }

  /** Lets packets wait in front of all others. */
  addPackets(packets: readonly Packet[]): void {
    if (packets.length === 0) return;
    this.writeBuffer.unshift(...packets);
    for (const { data } of packets) this.bufferBytes += data?.length ?? 0;
  }

  /** Passes the waiting packets to the transport if it can send. */
  flush(): void {
    if (held.size > 0 && held.has(this)) return;
    const packets = this.buffer;
    if (this.readyState === 'closed' || !packets || !this.transport.canSend) return;
    if (packets.length === 0) return;
    this.emit('flush', packets);
    this.host.emit('flush', this, packets);
    this.buffer = undefined;
    this.bufferBytes = 0;
    this.transport.send(packets);
    this.emit('drain');
    this.host.emit('drain', this);
    if (this.isObserved || this.host.isWatchingPackets) this.transport.progressAfterHeld?.();
  }

  onReady(): void {
    this.flush();
  }

  onProgress(): void {
    if (this.isObserved) this.emit('drain');
    if (this.host.isWatchingPackets) this.host.emit('drain', this);
  }

  /** More than `maxBackpressure` bytes wait for the client. */
  abstract onOverflow(): void;

  onDrain(transport: Transport): void {
    const { callbacks } = this;
    this.callbacks = undefined;
    for (const callback of callbacks ?? []) callback(transport);
  }
}

/** Sessions whose packets wait for the end of the turn. A field of each session would take more memory. */
const held = new Set<object>();

const defaultOptions: PacketOptions = Object.freeze({ compress: true });
