import type { Adapter, BroadcastOptions, Room, SocketId } from 'socket.io-adapter';
import type { PacketType as Type } from 'socket.io-parser';
import { machineTime } from '../../base/clock.js';
import { nameOf, roomsNamed } from '../../base/names.js';
import { isToId } from '../../base/worker-name.js';
import { PacketType } from '../../engine/parser/socket-io-parser.js';
import { EncodedPacket, type EncodedPackets, sizeOf } from '../../io/rooms/index.js';
import { type BroadcastPacket, broadcastStepsOf, packetStepsOf } from '../../io/socket-io.private.js';
import type { BroadcastNumbers } from './broadcast-numbers.js';
import { type KeptPacket, lastToAll, type Mark } from './keeper/stream.js';
import type { LiveSession, LiveSessions } from './live-sessions.js';
import type { NamespaceRecovery } from './namespace-recovery.js';
import type { OffsetWriter } from './offset-writer.js';
import { isWorkerName } from './version-vector.js';

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
  const [sender, number, at] = kept as unknown[];
  const isMark = isWorkerName(sender) && Number.isSafeInteger(number) && (number as number) > 0;
  const isTimed = typeof at === 'number' && at > 0 && Number.isSafeInteger(lastToAll(kept as unknown as Mark));
  return isMark && isTimed ? (kept as unknown as Mark) : undefined;
}

function namesOf(rooms: Iterable<Room> | undefined): string[] {
  return rooms ? Array.from(rooms, nameOf) : [];
}

/**
 * Has what an adapter delivers kept, and adds offsets to it.
 *
 * Each kept broadcast carries a mark to the other workers, in its flags. Each worker delivers it with an offset of its own.
 * A packet to one socket stays on its worker.
 */
export class Broadcasting {
  /** The broadcast that is being delivered. */
  private current: { packet: EventPacket; encoded: EncodedPackets; plain: EncodedPackets } | undefined;
  private readonly adapter: Adapter;
  private readonly numbers: BroadcastNumbers;
  private readonly live: LiveSessions;
  private readonly writer: OffsetWriter;
  /** Delivers a broadcast on this worker alone. */
  private readonly broadcastHere: (packet: unknown, options: BroadcastOptions) => void;

  constructor(private readonly namespace: NamespaceRecovery) {
    const { adapter, numbers, live, writer } = namespace;
    this.adapter = adapter;
    this.numbers = numbers;
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
      const rooms = namesOf(options.rooms);
      const kept = this.numbers.nextMark(!isToId(rooms));
      const [, number, at] = kept;
      this.namespace.keep({ number, at, rooms, except: namesOf(options.except), packets: [...encoded.encoded] });
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
    return new EncodedPacket(type, this.namespace.nsp.name, this.writer.encode(data), () => data);
  }

  /**
   * Notes a broadcast, and adds its offset to what clients get.
   * @returns to whom to deliver it; undefined if it is known already
   */
  private record(
    { packet, encoded, plain }: NonNullable<typeof this.current>,
    options: BroadcastOptions,
  ): BroadcastOptions | undefined {
    const flags = (options.flags ?? {}) as MarkedFlags;
    const mark = markOf(flags.kept);
    const rooms = namesOf(options.rooms);
    const except = namesOf(options.except);
    if (!mark) {
      // Servers and emitters without recovery send messages that nothing numbers.
      if (isKept(packet, flags) && !flags.local)
        this.namespace.post({ type: 'unnumbered', at: machineTime(), rooms, except });
      return options;
    }
    const [sender, number, at] = mark;
    const isLate = number <= this.numbers.lastOf(sender) && isToId(rooms);
    if (isLate && number <= (this.live.of(rooms[0]!)?.hasUpTo?.of(sender) ?? 0)) return undefined;
    const gap = this.numbers.gapBefore(mark);
    if (gap !== undefined) this.namespace.onLost(gap);
    if (!this.numbers.add(mark, { rooms, except, packets: plain })) return undefined;
    encoded.splice(0, encoded.length, ...this.writer.withOffset(plain, this.numbers.offset(at)));
    const { clientsAhead } = this.namespace;
    // Clients that have received it on another worker.
    const having = clientsAhead.size > 0 ? clientsAhead.having(mark) : [];
    return having.length > 0 ? { ...options, except: new Set([...(options.except ?? []), ...having]) } : options;
  }

  /** The only socket that a packet is for, if it is on this worker. */
  private soleRecipient({ rooms, except }: BroadcastOptions): LiveSession | undefined {
    if (rooms.size !== 1 || (except && except.size > 0)) return undefined;
    const [room] = rooms as Set<SocketId>;
    const session = this.live.of(room!);
    return session && !session.isShared && sizeOf(this.adapter.rooms, room!) === 1 ? session : undefined;
  }

  /** Sends a packet to one socket. It is kept with the session, so no other worker has work with it. */
  private sendTo(session: LiveSession, packet: EventPacket, { compress }: MarkedFlags): void {
    const steps = packetStepsOf(session.socket);
    const packets = this.writer.encode(packet.data);
    const at = this.numbers.nextTime();
    this.live.sent(session, { number: this.numbers.nextDirect(), at, packets });
    steps.notifyOutgoingListeners(packet);
    const encoded = this.writer.withOffset(packets, this.numbers.offset(at));
    steps.client.writeToEngine(encoded, { preEncoded: true, compress: compress !== false });
  }

  /** Delivers a broadcast that this worker should have received, but only the keeper has. */
  deliver(sender: string, { number, at, rooms, except, packets }: KeptPacket): void {
    const last = this.numbers.lastOf(sender);
    if (number <= last) return;
    // The keeper has had all in between.
    const kept: Mark = [sender, number, at, last];
    const packet = new EncodedPacket(PacketType.EVENT, this.namespace.nsp.name, packets, () =>
      this.writer.decode(packets),
    );
    // A socket that was recovered has received it on its worker of before, or among what it missed.
    const isKnown = isToId(rooms) && this.live.of(rooms[0]!)?.resumedFrom !== undefined;
    this.broadcastHere(packet, {
      rooms: new Set(roomsNamed(rooms)),
      except: new Set(roomsNamed(isKnown ? rooms : except)),
      flags: { kept } as object,
    });
  }
}
