import type { Namespace, Socket } from 'socket.io';
import type { Adapter, BroadcastOptions, Room, Session, SocketId } from 'socket.io-adapter';
import { PacketType } from 'socket.io-parser';
import {
  broadcastStepsOf,
  countAnswers,
  countConnecting,
  packetStepsOf,
  passEverything,
  recoveryTimesOf,
} from '../../compat/socket-io.js';
import { EncodedPacket, type EncodedPackets } from '../encoded-packet.js';
import { sizeOf } from '../room-sets.js';
import { type EventPacket, isKept, type MarkedFlags, markOf, textsOf } from './broadcasts.js';
import { OffsetWriter } from './encoding.js';
import type { RecoveryHost } from './host.js';
import { decodeOffset } from './kept/offset.js';
import { type Mark, PacketLog } from './kept/packet-log.js';
import { Sessions } from './kept/sessions.js';
import { type KeptPacket, Stream } from './kept/stream.js';
import { type LiveSession, LiveSessions } from './live-sessions.js';
import type { LiveState, RecoveryMessage } from './messages.js';
import { type ForeignMessage, type Missed, missedBy, type Returning, returningOf } from './missed.js';
import type { RecoveryOutcome } from './outcomes.js';
import { type Owner, Peers } from './peers.js';

/** Messages without a mark that are remembered, so that a client that may lack one is not recovered. */
const MAX_FOREIGN = 10_000;

/**
 * Recovery in one namespace. It adds itself to the namespace's adapter, whatever backplane that belongs to.
 *
 * Each kept broadcast carries a mark to the other workers, in its flags. Each worker adds it to its log, and delivers it
 * with an offset of its own. A packet to one socket stays on its worker.
 */
export class NamespaceRecovery implements Owner {
  readonly log: PacketLog;
  readonly sessions: Sessions;
  readonly live: LiveSessions;
  private readonly peers: Peers;
  private readonly writer: OffsetWriter;
  private readonly returning = new Map<SocketId, Returning>();
  private readonly foreign: ForeignMessage[] = [];
  /** The broadcast that is being delivered. */
  private current: { packet: EventPacket; encoded: EncodedPackets; plain: EncodedPackets } | undefined;
  /** Delivers a broadcast on this worker alone. */
  private readonly broadcastHere: (packet: unknown, options: BroadcastOptions) => void;

  constructor(
    readonly adapter: Adapter,
    readonly nsp: Namespace,
    private readonly host: RecoveryHost,
  ) {
    const { memory } = host;
    this.log = new PacketLog(host.name, memory, () => this.retentionMs);
    this.sessions = new Sessions(host.bounds, () => this.times.durationMs);
    this.peers = new Peers(this, host);
    this.live = new LiveSessions(
      memory,
      () => this.peers.buddy(),
      (buddy, changes) => host.send(buddy, { type: 'live', nsp: nsp.name, worker: host.name, ...changes }),
    );
    this.writer = new OffsetWriter(nsp);
    const { broadcast } = adapter;
    this.broadcastHere = (packet, options) =>
      broadcast.call(adapter, packet, { ...options, flags: { ...options.flags, local: true } });
    this.install();
  }

  private get times(): { durationMs: number; silenceMs: number } {
    return recoveryTimesOf(this.nsp);
  }

  /** How long packets are kept: a client may have received nothing for a while before it counts as gone. */
  get retentionMs(): number {
    return this.times.durationMs + this.times.silenceMs;
  }

  private install(): void {
    const { adapter } = this;
    const steps = broadcastStepsOf<EncodedPackets>(adapter);
    const { broadcast, addAll, del, delAll } = adapter;
    const { apply, _encode } = steps;
    passEverything(adapter);
    countConnecting(this.nsp);
    adapter.persistSession = (session) => this.onDisconnect(session as Session & { pid: string });
    adapter.restoreSession = (pid, offset) => this.restore(pid, offset) as never;
    adapter.broadcast = (packet: EventPacket, options) => {
      const flags = (options.flags ?? {}) as MarkedFlags;
      if (flags.local) return broadcast.call(adapter, packet, options);
      const session = this.soleRecipient(options);
      if (!isKept(packet, flags))
        return session ? this.broadcastHere(packet, options) : broadcast.call(adapter, packet, options);
      if (session) return this.sendTo(session, packet, flags);
      this.live.flushFirst();
      const kept = this.log.nextMark();
      return broadcast.call(adapter, packet, { ...options, flags: { ...flags, kept } as object });
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
      if (!current || this.record(current, options)) apply.call(adapter, options, deliver);
    };
    adapter.addAll = (id, rooms) => {
      const result = addAll.call(adapter, id, rooms);
      const socket = this.nsp.sockets.get(id);
      if (socket) this.onJoin(socket, rooms);
      return result;
    };
    adapter.del = (id, room) => {
      const result = del.call(adapter, id, room);
      const session = this.live.of(id);
      if (session) this.live.note(session);
      return result;
    };
    adapter.delAll = (id) => {
      this.onGone(id);
      delAll.call(adapter, id);
    };
  }

  /**
   * Adds a broadcast to the log, and its offset to what clients get.
   * @returns whether to deliver it
   */
  private record({ packet, encoded, plain }: NonNullable<typeof this.current>, options: BroadcastOptions): boolean {
    const flags = (options.flags ?? {}) as MarkedFlags;
    const mark = markOf(flags.kept);
    const rooms = textsOf(options.rooms);
    const except = textsOf(options.except);
    if (!mark) {
      // Servers and emitters without recovery send messages that nothing numbers.
      if (isKept(packet, flags) && !flags.local) this.foreign.push({ at: Date.now(), rooms, except });
      if (this.foreign.length > MAX_FOREIGN) this.log.startAfter(this.foreign.shift()!.at);
      return true;
    }
    if (!this.log.add(mark, { rooms, except, packets: plain })) return false;
    encoded.splice(0, encoded.length, ...this.writer.withOffset(plain, this.log.offset(mark[2])));
    return true;
  }

  /** The only socket that a packet is for, if it is on this worker. */
  private soleRecipient({ rooms, except }: BroadcastOptions): LiveSession | undefined {
    if (rooms.size !== 1 || (except && except.size > 0)) return undefined;
    const [room] = rooms as Set<SocketId>;
    const session = this.live.of(room!);
    if (!session || sizeOf(this.adapter.rooms, room!) !== 1 || this.peers.isShared(room!)) return undefined;
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

  private onJoin(socket: Socket, rooms: ReadonlySet<Room>): void {
    if (rooms.has(socket.id) && !this.live.of(socket.id)) return this.onConnect(socket);
    const session = this.live.of(socket.id);
    if (session) this.live.note(session);
    for (const room of rooms) if (room !== socket.id) this.peers.joined(String(room));
  }

  /**
   * The socket is connected, but the client does not know that yet. What it lacks is sent now, in one go: everything
   * that comes later reaches it through its rooms.
   */
  private onConnect(socket: Socket): void {
    const returning = this.returning.get(socket.id);
    this.returning.delete(socket.id);
    countAnswers(socket);
    const { recoveries, aliveAt = Date.now() } = returning?.session ?? {};
    const session = this.live.add(socket, { resumedFrom: returning?.resumedFrom, recoveries, aliveAt });
    if (!returning) return;
    for (const room of socket.rooms) if (room !== socket.id) this.peers.joined(String(room));
    const missed = this.missed(returning);
    returning.session.direct.release();
    // A bound has cut what was complete before the middleware ran. The client connects again, and gets a new session.
    if (!missed) {
      this.host.outcomes['packets missing']++;
      return void setImmediate(() => socket.conn.close(true));
    }
    this.host.outcomes.recovered++;
    this.replay(session, returning, missed);
  }

  private replay(session: LiveSession, { offset }: Returning, missed: readonly Missed[]): void {
    const senders = this.log.known(offset.senders);
    const replayed = missed.map(({ sender, packet }) => {
      if (sender === undefined) {
        this.live.keep(session, { ...packet, number: ++this.log.direct });
      } else senders.set(sender, packet.number);
      return this.writer.withOffset(packet.packets, this.log.offsetOf(packet.at, senders));
    });
    // From its first packet on, the client has offsets of this worker, and the buddy's copy is that of the worker before.
    this.live.flush();
    this.host.flush();
    const { client } = packetStepsOf(session.socket);
    for (const encoded of replayed) client.writeToEngine(encoded, { preEncoded: true });
  }

  private missed(returning: Returning): Missed[] | undefined {
    return missedBy(returning, this.log, this.foreign);
  }

  private async restore(pid: string, resumedFrom: string) {
    const offset = decodeOffset(resumedFrom);
    if (!offset) return this.fail('offset invalid');
    await this.peers.ready;
    const session = await this.peers.findSession(pid);
    if (!session) return this.fail('session unknown');
    const returning = returningOf(session, offset, resumedFrom);
    const isKnown = returning !== undefined && (await this.log.reached(returning.offset));
    if (!isKnown || !this.missed(returning)) {
      session.direct.release();
      return this.fail(returning && !isKnown ? 'worker behind' : 'packets missing');
    }
    this.returning.set(session.sid, returning);
    const { sid, rooms, data } = session;
    return { pid, sid, rooms: [...rooms], data, missedPackets: [] };
  }

  /** The client gets a new session. */
  private fail(outcome: RecoveryOutcome): null {
    this.host.outcomes[outcome]++;
    return null;
  }

  /** A socket is disconnected, and its client may return. */
  private onDisconnect({ pid, sid, rooms, data }: Session & { pid: string }): void {
    const live = this.live.get(pid);
    if (!live) return;
    this.keepSession(
      { pid, sid, rooms, data, resumedFrom: live.resumedFrom, recoveries: live.recoveries, aliveAt: live.aliveAt },
      this.host.name,
      live.direct ?? new Stream(this.host.memory),
    );
    live.direct = undefined;
  }

  /** Keeps a session and tells the other workers. */
  keepSession(state: LiveState, worker: string, direct: Stream): void {
    const disconnectedAt = Date.now();
    const aliveAt = Math.max(state.aliveAt, disconnectedAt - this.times.silenceMs);
    this.peers.share({ ...state, worker, direct, disconnectedAt, aliveAt, bytes: 0 });
  }

  private onGone(sid: SocketId): void {
    const session = this.live.of(sid);
    if (session) {
      this.live.remove(session);
      session.direct?.release();
    }
    // A middleware has rejected the client, or it has left before it was connected. It may try again.
    const returning = this.returning.get(sid);
    if (this.returning.delete(sid)) this.peers.share(returning!.session);
  }

  /** Delivers a broadcast that this worker should have received, but only another one has. */
  deliver(sender: string, { number, at, rooms, except, packets }: KeptPacket): void {
    if (number <= this.log.lastOf(sender)) return;
    const kept: Mark = [sender, number, at];
    const packet = new EncodedPacket(PacketType.EVENT, this.nsp.name, packets, () => this.writer.decode(packets));
    this.broadcastHere(packet, { rooms: new Set(rooms), except: new Set(except), flags: { kept } as object });
  }

  /** The key to a connected socket, as of now. Its offset counts the packets to this socket alone. */
  keyOf({ id }: Socket): { pid: string; offset: string } | undefined {
    const session = this.live.of(id);
    const offset = this.log.offset(this.log.nextTime(), session?.direct?.last ?? 0);
    return session && { pid: session.pid, offset };
  }

  receive(from: number | undefined, message: RecoveryMessage): void {
    this.peers.receive(from, message);
  }

  workerGone(id: number): void {
    this.peers.workerGone(id);
    this.live.plan();
  }

  /** Resolves when the other workers have what this one kept alone. The sockets are closed by then. */
  async leave(): Promise<void> {
    this.live.flush();
    await this.peers.leave();
  }

  sweep(): void {
    const oldest = Date.now() - this.retentionMs;
    while (this.foreign[0] && this.foreign[0].at < oldest) this.foreign.shift();
    this.sessions.sweep();
    this.peers.sweep(Date.now() - this.times.durationMs);
    this.log.sweep();
  }

  /** This worker may have lost messages. */
  lost(): void {
    this.log.start();
  }

  close(): void {
    this.live.close();
    this.sessions.close();
    this.log.close();
    this.peers.close();
  }
}
