import type { Namespace } from 'socket.io';
import type { Adapter, BroadcastOptions, Room, SocketId } from 'socket.io-adapter';
import type { PacketType as Type } from 'socket.io-parser';
import { PacketType } from '../../engine/parser/socket-io-parser.js';
import { EncodedPacket, type EncodedPackets, sizeOf } from '../../io/rooms/index.js';
import { type BroadcastPacket, broadcastStepsOf, packetStepsOf } from '../../io/socket-io.private.js';
import type { PacketLog } from './kept/packet-log.js';
import type { KeptPacket, Mark } from './kept/stream.js';
import type { LiveSession, LiveSessions } from './live-sessions.js';
import type { OffsetWriter } from './messages.js';
import { isWorkerName } from './offset.js';
import type { Peers } from './peers/peers.js';
import { type Ahead, ForeignMessages } from './returns/foreign.js';

/** The packet of an event, as socket.io passes them to the adapter. */
interface EventPacket extends BroadcastPacket {
  readonly type: Type;
  readonly data: unknown[];
}

/** How broadcasts carry their marks to other workers. */
interface MarkedFlags {
  readonly kept?: unknown;
  readonly volatile?: boolean;
  readonly local?: boolean;
  readonly compress?: boolean;
}

/** As stock: no volatile packets, and none with an acknowledgement, which belongs to the old connection. */
function isKept({ type, id }: EventPacket, flags: MarkedFlags): boolean {
  return (type === PacketType.EVENT || type === PacketType.BINARY_EVENT) && id === undefined && !flags.volatile;
}

function markOf(kept: unknown): Mark | undefined {
  if (!Array.isArray(kept)) return undefined;
  const [sender, number, at, before] = kept as unknown[];
  const isMark = isWorkerName(sender) && Number.isSafeInteger(number) && (number as number) > 0;
  const isTime = (value: unknown) => typeof value === 'number' && value > 0;
  return isMark && isTime(at) && (before === undefined || isTime(before)) ? (kept as unknown as Mark) : undefined;
}

function textsOf(rooms: Iterable<Room> | undefined): string[] {
  return rooms ? Array.from(rooms, String) : [];
}

/** The parts of a namespace that packets concern. */
interface Sender {
  readonly adapter: Adapter;
  readonly nsp: Namespace;
  readonly log: PacketLog;
  readonly live: LiveSessions;
  readonly peers: Peers;
  readonly writer: OffsetWriter;
  readonly ahead: Ahead;
}

/**
 * Keeps what an adapter delivers, and adds offsets to it.
 *
 * Each kept broadcast carries a mark to the other workers, in its flags. Each worker adds it to its log, and delivers it
 * with an offset of its own. A packet to one socket stays on its worker.
 */
export class Broadcasting {
  readonly foreign = new ForeignMessages();
  /** The broadcast that is being delivered. */
  private current: { packet: EventPacket; encoded: EncodedPackets; plain: EncodedPackets } | undefined;
  private readonly adapter: Adapter;
  private readonly log: PacketLog;
  private readonly live: LiveSessions;
  private readonly writer: OffsetWriter;
  /** Delivers a broadcast on this worker alone. */
  private readonly broadcastHere: (packet: unknown, options: BroadcastOptions) => void;

  constructor(private readonly sender: Sender) {
    const { adapter, log, live, writer } = sender;
    this.adapter = adapter;
    this.log = log;
    this.live = live;
    this.writer = writer;
    const { broadcast } = adapter;
    this.broadcastHere = (packet, options) =>
      broadcast.call(adapter, packet, { ...options, flags: { ...options.flags, local: true } });
    this.install();
  }

  private install(): void {
    const { adapter } = this;
    const steps = broadcastStepsOf<EncodedPackets>(adapter);
    const { broadcast } = adapter;
    const { apply, _encode } = steps;
    adapter.broadcast = (packet: EventPacket, options) => {
      const flags = (options.flags ?? {}) as MarkedFlags;
      if (flags.local) return broadcast.call(adapter, packet, options);
      const session = this.soleRecipient(options);
      if (!isKept(packet, flags))
        return session ? this.broadcastHere(packet, options) : broadcast.call(adapter, packet, options);
      if (session) return this.sendTo(session, packet, flags);
      // What cannot be encoded throws before it has a number, which the other workers would miss.
      const encoded = this.encode(packet);
      this.live.flushFirst();
      const kept = this.log.nextMark();
      return broadcast.call(adapter, encoded, { ...options, flags: { ...flags, kept } as object });
    };
    steps._encode = (packet, options) => {
      // The offset is added to this list. The original may still be on its way to other workers.
      const encoded = _encode.call(adapter, packet instanceof EncodedPacket ? packet.copy() : packet, options);
      this.current = { packet: packet as EventPacket, encoded, plain: [...encoded] };
      return encoded;
    };
    steps.apply = (options, deliver) => {
      const { current } = this;
      this.current = undefined;
      const recipients = current ? this.record(current, options) : options;
      if (recipients) apply.call(adapter, recipients, deliver);
    };
  }

  private encode(packet: EventPacket | EncodedPacket): EncodedPacket {
    if (packet instanceof EncodedPacket) return packet;
    const { type, data } = packet;
    return new EncodedPacket(type, this.sender.nsp.name, this.writer.encode(data), () => data);
  }

  /**
   * Adds a broadcast to the log, and its offset to what clients get.
   * @returns to whom to deliver it; undefined if it is known already
   */
  private record(
    { packet, encoded, plain }: NonNullable<typeof this.current>,
    options: BroadcastOptions,
  ): BroadcastOptions | undefined {
    const flags = (options.flags ?? {}) as MarkedFlags;
    const mark = markOf(flags.kept);
    const rooms = textsOf(options.rooms);
    const except = textsOf(options.except);
    if (!mark) {
      // Servers and emitters without recovery send messages that nothing numbers.
      if (isKept(packet, flags) && !flags.local) this.foreign.add({ at: Date.now(), rooms, except });
      this.log.startAfter(this.foreign.since);
      return options;
    }
    if (!this.log.add(mark, { rooms, except, packets: plain })) return undefined;
    encoded.splice(0, encoded.length, ...this.writer.withOffset(plain, this.log.offset(mark[2])));
    const { ahead } = this.sender;
    // Clients that have received it on another worker.
    const having = ahead.size > 0 ? ahead.having(mark) : [];
    return having.length > 0 ? { ...options, except: new Set([...(options.except ?? []), ...having]) } : options;
  }

  /** The only socket that a packet is for, if it is on this worker. */
  private soleRecipient({ rooms, except }: BroadcastOptions): LiveSession | undefined {
    if (rooms.size !== 1 || (except && except.size > 0)) return undefined;
    const [room] = rooms as Set<SocketId>;
    const session = this.live.of(room!);
    if (!session || sizeOf(this.adapter.rooms, room!) !== 1 || this.sender.peers.isShared(room!)) return undefined;
    return session;
  }

  /** Sends a packet to one socket. It is kept with the session, so no other worker but the buddy has work with it. */
  private sendTo(session: LiveSession, packet: EventPacket, { compress }: MarkedFlags): void {
    const steps = packetStepsOf(session.socket);
    const packets = this.writer.encode(packet.data);
    const at = this.log.nextTime();
    this.live.keep(session, { number: ++this.log.direct, at, packets });
    steps.notifyOutgoingListeners(packet);
    const encoded = this.writer.withOffset(packets, this.log.offset(at));
    steps.client.writeToEngine(encoded, { preEncoded: true, compress: compress !== false });
  }

  /** Delivers a broadcast that this worker should have received, but only another one has. */
  deliver(sender: string, { number, at, rooms, except, packets }: KeptPacket): void {
    if (number <= this.log.headOf(sender).last) return;
    const kept: Mark = [sender, number, at];
    const packet = new EncodedPacket(PacketType.EVENT, this.sender.nsp.name, packets, () =>
      this.writer.decode(packets),
    );
    this.broadcastHere(packet, { rooms: new Set(rooms), except: new Set(except), flags: { kept } as object });
  }
}
