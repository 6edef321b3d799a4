import type { Clock } from '../clock.js';
import type { CloseReason } from '../counters.js';
import { DeadlineQueue, type Waiting } from '../deadlines.js';
import { type HeldBytes, Holder } from '../delivery/held-bytes.js';

/** The session whose packet is incomplete. */
export interface PacketOwner {
  /** Ends the session. */
  giveUp(reason: Extract<CloseReason, 'packet too large' | 'incomplete packet'>): void;
}

/** From an incomplete packet, this many bytes per second must arrive after the first deadline. */
const MIN_BYTES_PER_SECOND = 32_768;

/**
 * What the data of a packet takes in memory, in relation to its text: `[{},{}]` becomes an object of 56 bytes, and a
 * reference to it, for each three characters.
 */
const DATA_FACTOR = 24;
/** Memory of an incomplete packet besides its data, and of each attachment, in bytes. */
const PACKET_OVERHEAD = 1024;
const ATTACHMENT_OVERHEAD = 256;

/** The packets of which some attachments are missing. */
export class IncompletePackets {
  readonly queue: DeadlineQueue<IncompletePacket>;
  /** How many bytes a packet must grow by until its next deadline. */
  readonly minGrowth: number;

  /** The most bytes of a packet with its attachments. */
  readonly maxBytes: number;
  readonly maxAttachments: number;

  /**
   * @param limits of a packet
   * @param delay the time within which a packet must be complete, in ms; longer only if it arrives fast
   */
  constructor(
    limits: { readonly maxPacketSize: number; readonly maxAttachments: number },
    delay: number,
    readonly incoming: HeldBytes,
    clock: Clock,
  ) {
    this.maxBytes = limits.maxPacketSize;
    this.maxAttachments = limits.maxAttachments;
    this.queue = new DeadlineQueue<IncompletePacket>(delay, (packet) => packet.onDeadline(), clock);
    this.minGrowth = (delay / 1000) * MIN_BYTES_PER_SECOND;
  }

  close(): void {
    this.queue.close();
  }
}

/** A packet of which some attachments are missing. */
export class IncompletePacket extends Holder implements Waiting<IncompletePacket> {
  queue: DeadlineQueue<IncompletePacket> | undefined;
  due = 0;
  previous: IncompletePacket | undefined;
  next: IncompletePacket | undefined;
  private received = 0;
  private receivedBefore = 0;

  constructor(
    private readonly packets: IncompletePackets,
    private readonly owner: PacketOwner,
  ) {
    super(packets.incoming);
    packets.queue.add(this);
  }

  /**
   * Counts the packet's text or an attachment. Returns false if the session had to be ended.
   * @param isRaw whether a text is kept as it is, and not as the data that it stands for
   */
  add(data: string | Uint8Array, isRaw = false): boolean {
    const isText = typeof data === 'string';
    const factor = isRaw ? 1 : DATA_FACTOR;
    this.received += data.length;
    if (this.received > this.packets.maxBytes) return this.giveUp('packet too large');
    // A short attachment keeps the larger block of memory that it is a part of.
    this.hold(isText ? data.length * factor + PACKET_OVERHEAD : data.buffer.byteLength + ATTACHMENT_OVERHEAD);
    return this.queue !== undefined;
  }

  /** The most attachments that the packet may have. */
  get maxAttachments(): number {
    return this.packets.maxAttachments;
  }

  /** The packet announces more attachments than it may have. */
  onTooMany(): void {
    this.giveUp('packet too large');
  }

  /** The packet is complete, or its session has ended. */
  end(): void {
    this.queue?.remove(this);
    this.letGo();
  }

  onDeadline(): void {
    if (this.received - this.receivedBefore < this.packets.minGrowth) return void this.giveUp('incomplete packet');
    this.receivedBefore = this.received;
    this.packets.queue.add(this);
  }

  onOverflow(): void {
    this.giveUp('incomplete packet');
  }

  private giveUp(reason: 'packet too large' | 'incomplete packet'): false {
    this.end();
    this.owner.giveUp(reason);
    return false;
  }
}
